import type { Found } from './finding';

/** Where the server stands, as the rest of the extension sees it. Its program is found while it is `starting`. */
export type ServerState =
  | { kind: 'stopped' }
  | { kind: 'untrusted' }
  | { kind: 'missing'; message: string }
  | ({ kind: 'starting' } & Partial<Found>)
  | ({ kind: 'running'; version: string } & Found)
  | { kind: 'failed'; message: string };

/** Something the user should read; the message says what to do. */
export class UserError extends Error {}

/** Why there is no server to ask, or undefined while there is one or one is on its way. */
export function whyNot(state: ServerState): string | undefined {
  switch (state.kind) {
    case 'starting':
    case 'running':
      return undefined;
    case 'untrusted':
      return 'Winnow starts once you trust this workspace.';
    case 'stopped':
      return "Winnow's server is stopped. Run “Winnow: Restart Server”.";
    case 'missing':
    case 'failed':
      return state.message;
  }
}
