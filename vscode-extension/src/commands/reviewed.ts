/** Reviews, as the server's `winnow.review` returns them, and repositories of the Git extension. */
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
  /** A sentence on what the change does; may be empty. */
  summary: string;
  findings: Finding[];
}

/** The repository to commit to: the one with this root, whose menu was used, or else one with staged changes. */
export function repositoryOf(repositories: readonly Repository[], root?: string): Repository | undefined {
  const staged = repositories.find(({ state }) => state.indexChanges.length > 0);
  return repositories.find(({ rootUri }) => rootUri.toString() === root) ?? staged ?? repositories[0];
}
