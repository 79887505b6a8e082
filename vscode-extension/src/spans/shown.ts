/** The kept spans of the question that the view, the editors and the explorer show. */
import * as vscode from 'vscode';
import type { SpanInfo, Stats } from '../ask/contract';
import { linesOf } from '../documents';
import { fileHeats, type FileHeat } from './heat';

/** A question's spans, from an exchange or from a search. */
export interface QuestionSpans {
  question: string;
  spans: readonly SpanInfo[];
  stats?: Stats;
  notices: readonly string[];
}

export class Shown implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private kept: QuestionSpans | undefined;
  private files: readonly FileHeat[] = [];

  readonly onDidChange = this.changed.event;

  get current(): QuestionSpans | undefined {
    return this.kept;
  }

  get heats(): readonly FileHeat[] {
    return this.files;
  }

  heat(uri: string): FileHeat | undefined {
    return this.files.find((file) => file.uri === uri);
  }

  async show(kept: QuestionSpans): Promise<void> {
    const heats = fileHeats(kept.spans, await lineCounts(kept.spans));
    this.kept = kept;
    this.files = heats;
    this.changed.fire();
  }

  dispose(): void {
    this.changed.dispose();
  }
}

/** Line counts by URI, of the files that still exist. */
async function lineCounts(spans: readonly SpanInfo[]): Promise<Map<string, number>> {
  const uris = [...new Set(spans.map((span) => span.location.uri))];
  const files = await Promise.all(uris.map(async (uri) => [uri, await linesOf(uri)] as const));
  return new Map(files.flatMap(([uri, lines]) => (lines === undefined ? [] : [[uri, lines.length - (lines.at(-1) === '' ? 1 : 0)] as const])));
}
