/** The banner above the question box of the Ask view: why questions cannot be answered, and what the user can do about it. */
import { capitalized } from '../figures';
import type { Status } from '../server/protocol';
import { remedies } from '../server/remedies';
import { explain, whyNot, type ServerState } from '../server/state';
import type { Readiness } from './contract';

const SEVERITY: Record<ServerState['kind'], Readiness['severity']> = {
  stopped: 'info',
  untrusted: 'warning',
  folderless: 'info',
  missing: 'warning',
  failed: 'error',
  starting: 'info',
  running: 'info',
};

/** Undefined when questions are answered, if only after a while: the status bar shows what is loaded and indexed. */
export function readinessOf(state: ServerState, status: Status | undefined): Readiness | undefined {
  const actions = [...remedies(state, status)];
  if (state.kind !== 'running' || status === undefined) return { severity: SEVERITY[state.kind], blocked: whyNot(state) !== undefined, message: explain(state), actions };
  return status.state === 'error' ? { severity: 'error', blocked: false, message: sentence(status.message), actions } : undefined;
}

function sentence(text: string): string {
  return capitalized(text) + (/[.!?]$/.test(text) ? '' : '.');
}
