/** Turns kept spans into a heat map: the files, and the share kept of each. */
import type { SpanInfo } from '../ask/contract';
import { lastLine } from '../lines';

export interface FileHeat {
  uri: string;
  /** In line order. */
  spans: SpanInfo[];
  keptLines: number;
  /** Share of the file's lines that are kept, 0 to 1. */
  share: number;
  tokens: number;
  /** Of its likeliest span. */
  score: number;
}

/** Files with kept spans, the one with the likeliest span first. `lineCounts` are lines by URI. */
export function fileHeats(spans: readonly SpanInfo[], lineCounts: ReadonlyMap<string, number>): FileHeat[] {
  const byUri = Map.groupBy(spans, (span) => span.location.uri);
  return [...byUri].map(([uri, own]) => fileHeat(uri, own, lineCounts.get(uri))).sort((a, b) => b.score - a.score);
}

function fileHeat(uri: string, spans: SpanInfo[], lineCount: number | undefined): FileHeat {
  const kept = new Set(spans.flatMap(lineNumbers));
  const all = Math.max(lineCount ?? 0, ...[...kept].map((line) => line + 1));
  return {
    uri,
    spans: spans.toSorted((a, b) => a.location.range.start.line - b.location.range.start.line),
    keptLines: kept.size,
    share: kept.size / all,
    tokens: spans.reduce((sum, span) => sum + span.tokens, 0),
    score: Math.max(...spans.map((span) => span.score)),
  };
}

/** Zero-based lines of a span. */
export function lineNumbers({ location: { range } }: SpanInfo): number[] {
  return Array.from({ length: lastLine(range) - range.start.line + 1 }, (_, index) => range.start.line + index);
}

/** A bar of cells, filled by `share`; a share above 0 fills at least one. */
export function bar(share: number, cells = 10): string {
  const full = share <= 0 ? 0 : Math.min(cells, Math.max(1, Math.round(share * cells)));
  return '█'.repeat(full) + '░'.repeat(cells - full);
}

/** Log-odds as a probability. */
export function likelihood(score: number): number {
  return 1 / (1 + Math.exp(-score));
}

export type Heat = 'hot' | 'warm' | 'cool';

/** The third of the range of one question's scores that a score is in. */
export function heatOf(score: number, all: readonly number[]): Heat {
  const low = Math.min(...all);
  const high = Math.max(...all);
  const place = high > low ? (score - low) / (high - low) : 1;
  return place >= 2 / 3 ? 'hot' : place >= 1 / 3 ? 'warm' : 'cool';
}
