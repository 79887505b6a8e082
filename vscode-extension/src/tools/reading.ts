/** Reads the current code of spans. */
import type { SpanInfo } from '../ask/contract';
import { label } from '../asking/places';
import { linesOf } from '../documents';
import { lineNumbers } from '../spans/heat';
import type { Piece } from './fitting';

/** The spans with their text, the likeliest first, without those whose file is gone. */
export async function read(spans: readonly SpanInfo[]): Promise<Piece[]> {
  const uris = [...new Set(spans.map((span) => span.location.uri))];
  const files = new Map(await Promise.all(uris.map(async (uri) => [uri, await linesOf(uri)] as const)));
  return spans.toSorted((a, b) => b.score - a.score).flatMap((span) => {
    const lines = files.get(span.location.uri);
    const text = lines && lineNumbers(span).map((number) => lines[number]).filter((line) => line !== undefined).join('\n');
    return text === undefined || text === '' ? [] : [{ place: label(span.location), text, tokens: span.tokens }];
  });
}
