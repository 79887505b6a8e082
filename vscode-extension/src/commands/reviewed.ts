/** A review, as the server's `winnow.review` returns it, in the terms of the Problems view. */
import type { Location } from '../ask/contract';

export type Confidence = 'high' | 'medium' | 'low';

export interface Finding {
  location: Location;
  reason: string;
  confidence: Confidence;
  rule: string;
}

/** A repository of VS Code's Git extension. */
export interface Repository {
  rootUri: { toString(): string };
  state: { indexChanges: readonly unknown[] };
  inputBox: { value: string };
}

export interface Review {
  title: string;
  findings: Finding[];
}

/** The findings of each file, by its URI; files in the order of their first finding. */
export function byFile(findings: readonly Finding[]): Map<string, Finding[]> {
  const files = new Map<string, Finding[]>();
  for (const finding of findings) files.set(finding.location.uri, [...(files.get(finding.location.uri) ?? []), finding]);
  return files;
}

/** Whose commit a message is for: the repository with this root, whose menu was used, else one with something staged. */
export function repositoryOf(repositories: readonly Repository[], root?: string): Repository | undefined {
  const staged = repositories.find(({ state }) => state.indexChanges.length > 0);
  return repositories.find(({ rootUri }) => rootUri.toString() === root) ?? staged ?? repositories[0];
}

export function summary({ findings }: Review): string {
  if (findings.length === 0) return 'The review found nothing.';
  return `The review found ${findings.length === 1 ? 'one thing' : `${findings.length} things`}.`;
}

/** A question of the chat panel's `/changes`. */
export function aboutChanges(prompt: string): string {
  return `@changes ${prompt}`.trim();
}
