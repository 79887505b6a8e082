/** The banner above the question box of the Ask view: why questions cannot be answered, and what the user can do about it. */
import type { Status } from '../server/protocol';
import { remedies } from '../server/remedies';
import { explain, type ServerState } from '../server/state';
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
  if (state.kind === 'starting' || (state.kind === 'running' && status === undefined)) return { severity: 'info', blocked: false, message: explain(state), actions };
  if (state.kind !== 'running') return { severity: SEVERITY[state.kind], blocked: true, message: explain(state), actions };
  return status?.state === 'error' ? { severity: 'error', blocked: false, message: sentence(status.message), actions } : undefined;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}
