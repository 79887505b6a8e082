import type { Found } from './finding';

/** The state of the server, as the rest of the extension sees it. Its program is found while it is `starting`. */
export type ServerState =
  | { kind: 'stopped' }
  | { kind: 'untrusted' }
  | { kind: 'folderless' }
  | { kind: 'missing'; message: string }
  | ({ kind: 'starting' } & Partial<Found>)
  | ({ kind: 'running'; version: string } & Found)
  | { kind: 'failed'; message: string };

/** Something the user should read; the message says what to do. */
export class UserError extends Error {}

/** The state in a sentence or two, with what the user can do about it. */
export function explain(state: ServerState): string {
  switch (state.kind) {
    case 'stopped':
      return 'The server is stopped. Run “Winnow: Restart Server”.';
    case 'untrusted':
      return 'Winnow starts once you trust this workspace.';
    case 'folderless':
      return 'Open a folder: Winnow answers about the code in it.';
    case 'missing':
    case 'failed':
      return state.message;
    case 'starting':
      return 'The server is starting.';
    case 'running':
      return 'Waiting for the server.';
  }
}

/** Why no question can be asked, or undefined while a server runs or starts. */
export function whyNot(state: ServerState): string | undefined {
  return state.kind === 'starting' || state.kind === 'running' ? undefined : explain(state);
}
