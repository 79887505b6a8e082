/** The banner above the question box of the Ask view while the server is not ready. */
import type { Status } from '../server/protocol';
import { explain, type ServerState } from '../server/state';
import type { Readiness } from './contract';

const SET_UP = { label: 'Set up…', command: 'winnow.setUp' };
const RESTART = { label: 'Restart the server', command: 'winnow.restartServer' };
const OUTPUT = { label: 'Show output', command: 'winnow.showOutput' };
const MODELS = { label: 'Download models', command: 'winnow.pullModels' };
const TRUST = { label: 'Manage trust', command: 'workbench.trust.manage' };

const BLOCKED: Partial<Record<ServerState['kind'], Pick<Readiness, 'severity' | 'actions'>>> = {
  stopped: { severity: 'info', actions: [RESTART] },
  untrusted: { severity: 'warning', actions: [TRUST] },
  missing: { severity: 'warning', actions: [SET_UP] },
  failed: { severity: 'error', actions: [RESTART, SET_UP, OUTPUT] },
};

/** Undefined when questions are answered at once. */
export function readinessOf(state: ServerState, status: Status | undefined): Readiness | undefined {
  if (state.kind === 'running' && status !== undefined) return running(status);
  const blocked = BLOCKED[state.kind];
  return { ...waiting(explain(state)), ...(blocked && { ...blocked, blocked: true }) };
}

/** Files that changed since they were indexed (`stale`) delay no question. */
function running({ state, message, models }: Status): Readiness | undefined {
  const text = sentence(message);
  if (state === 'loading' || state === 'indexing') return waiting(text);
  if (state !== 'error') return undefined;
  const missing = [models.drafter, models.target].some((model) => model.state === 'failed');
  return { severity: 'error', blocked: false, message: text, actions: missing ? [MODELS, OUTPUT] : [OUTPUT] };
}

function waiting(message: string): Readiness {
  return { severity: 'info', blocked: false, message, actions: [] };
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}
