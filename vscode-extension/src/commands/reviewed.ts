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
  rootUri: { fsPath: string; toString(): string };
  state: { indexChanges: readonly unknown[] };
  inputBox: { value: string };
}

export interface Review {
  title: string;
  /** A sentence on what the change does; may be empty. */
  summary: string;
  findings: Finding[];
}

/** The repositories that may be meant: the one with this root, whose menu was used, else those with staged changes, else the first. */
export function repositoriesOf(repositories: readonly Repository[], root?: string): readonly Repository[] {
  const named = repositories.filter(({ rootUri }) => rootUri.toString() === root);
  const staged = repositories.filter(({ state }) => state.indexChanges.length > 0);
  return [named, staged].find(({ length }) => length > 0) ?? repositories.slice(0, 1);
}
