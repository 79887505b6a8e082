/** The text of the status bar item and its details. */
import { capitalized, count, counted, megabytes } from '../figures';
import type { Status } from '../server/protocol';
import { explain, type ServerState } from '../server/state';

export type Severity = 'normal' | 'warning' | 'error';

export interface Description {
  text: string;
  detail: string;
  severity: Severity;
}

const WITHOUT_STATUS: Record<ServerState['kind'], [text: string, severity: Severity]> = {
  stopped: ['$(circle-slash) Winnow', 'normal'],
  untrusted: ['$(shield) Winnow', 'warning'],
  folderless: ['$(folder) Winnow: open a folder', 'normal'],
  missing: ['$(cloud-download) Winnow: set up', 'warning'],
  failed: ['$(error) Winnow', 'error'],
  starting: ['$(loading~spin) Winnow', 'normal'],
  running: ['$(loading~spin) Winnow', 'normal'],
};

export function describe(state: ServerState, status: Status | undefined): Description {
  if (state.kind === 'running' && status !== undefined) {
    return { text: textOf(status), detail: detailOf(status), severity: status.state === 'error' ? 'error' : 'normal' };
  }
  const [text, severity] = WITHOUT_STATUS[state.kind];
  return { text, detail: explain(state), severity };
}

function detailOf({ state, message, index }: Status): string {
  if (state === 'indexing' && index.total > 0) return `Ask now: ${count(index.done)} of ${counted(index.total, 'file')} indexed`;
  return capitalized(message);
}

function textOf({ state, message, index }: Status): string {
  switch (state) {
    case 'loading':
      return '$(loading~spin) Winnow: loading';
    case 'indexing':
      return index.total === 0 ? '$(sync~spin) Winnow: reading files' : `$(sync~spin) Winnow: ${count(index.done)} of ${counted(index.total, 'file')}`;
    case 'answering':
      return `$(comment-discussion) Winnow: ${stage(message)}`;
    case 'stale':
      return `$(history) Winnow: ${count(index.staleFiles)} changed`;
    case 'ready':
      return '$(check) Winnow';
    case 'error':
      return '$(error) Winnow';
  }
}

/** The first word of a message such as `reading 512 of 2,900 tokens, about 14 s`. */
export function stage(message: string): string {
  return /^\p{L}+/u.exec(message)?.[0] ?? 'answering';
}

/** Lines for the tooltip and the details. */
export function facts(state: ServerState, status: Status | undefined): [name: string, value: string][] {
  const server: [string, string][] = state.kind === 'running' ? [['Server', `${state.version}, ${state.command} (${state.source})`]] : [];
  if (status === undefined) return server;
  const { index, models, questions, memoryBytes } = status;
  return [
    ...server,
    ['Index', `${count(index.done)} of ${counted(index.total, 'file')}, ${counted(index.totalTokens, 'token')}, ${count(index.staleFiles)} changed since`],
    ['Drafter', model(models.drafter)],
    ['Target', model(models.target)],
    ['Questions', `${questions.running} running, ${questions.waiting} waiting`],
    ['Memory', megabytes(memoryBytes)],
  ];
}

function model({ name, state, error }: Status['models']['drafter']): string {
  return error === undefined ? `${name}, ${state}` : `${name}, ${state}: ${error}`;
}
