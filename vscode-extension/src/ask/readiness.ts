/** What the Ask view says above the question box while the server is not ready. */
import type { Status } from '../server/protocol';
import type { ServerState } from '../server/state';
import type { Readiness } from './contract';

const SET_UP = { label: 'Set up…', command: 'winnow.setUp' };
const RESTART = { label: 'Restart the server', command: 'winnow.restartServer' };
const OUTPUT = { label: 'Show output', command: 'winnow.showOutput' };
const MODELS = { label: 'Download models', command: 'winnow.pullModels' };
const TRUST = { label: 'Manage trust', command: 'workbench.trust.manage' };

/** Undefined when questions are answered at once. */
export function readinessOf(state: ServerState, status: Status | undefined): Readiness | undefined {
  switch (state.kind) {
    case 'stopped':
      return { severity: 'info', blocked: true, message: 'The server is stopped.', actions: [RESTART] };
    case 'untrusted':
      return { severity: 'warning', blocked: true, message: 'Winnow starts once you trust this workspace.', actions: [TRUST] };
    case 'missing':
      return { severity: 'warning', blocked: true, message: state.message, actions: [SET_UP] };
    case 'failed':
      return { severity: 'error', blocked: true, message: state.message, actions: [RESTART, SET_UP, OUTPUT] };
    case 'starting':
      return waiting('The server is starting.');
    case 'running':
      return status === undefined ? waiting('Waiting for the server.') : running(status);
  }
}

/** Files that changed since (`stale`) hold no question up. */
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
