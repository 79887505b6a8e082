/** Buttons for what keeps questions from being answered, the most fitting one first. The banner and the status bar share them. */
import type { Status } from './protocol';
import type { ServerState } from './state';

/** A command of the extension or of VS Code. */
export interface Remedy {
  label: string;
  command: string;
}

const SET_UP = { label: 'Set up…', command: 'winnow.setUp' };
const RESTART = { label: 'Restart the server', command: 'winnow.restartServer' };
const OUTPUT = { label: 'Show output', command: 'winnow.showOutput' };
const MODELS = { label: 'Download models', command: 'winnow.pullModels' };
const MODEL_SETTINGS = { label: 'Choose models', command: 'winnow.chooseModels' };
const TRUST = { label: 'Manage trust', command: 'workbench.trust.manage' };
const FOLDER = { label: 'Open folder', command: 'vscode.openFolder' };

const OF_STATE: Record<ServerState['kind'], readonly Remedy[]> = {
  stopped: [RESTART],
  untrusted: [TRUST],
  folderless: [FOLDER],
  missing: [SET_UP],
  failed: [SET_UP, RESTART, OUTPUT],
  starting: [],
  running: [],
};
/** Errors of a model whose file can be downloaded. */
const NOT_HERE: ReadonlySet<string | undefined> = new Set(['ModelNotFoundError', 'ModelDamagedError']);

export function remedies(state: ServerState, status?: Status): readonly Remedy[] {
  if (state.kind !== 'running' || status?.state !== 'error') return OF_STATE[state.kind];
  if (lacksModels(status)) return [MODELS, MODEL_SETTINGS];
  return hasFailed(status) ? [MODEL_SETTINGS, RESTART, OUTPUT] : [RESTART, OUTPUT];
}

/** Whether a model's file is missing or damaged, and not, say, a target's server out of reach. */
export function lacksModels({ models }: Status): boolean {
  return [models.drafter, models.target].some(({ state, kind }) => state === 'failed' && NOT_HERE.has(kind));
}

function hasFailed({ models }: Status): boolean {
  return [models.drafter, models.target].some(({ state }) => state === 'failed');
}
