/** What the status bar says, for each state of the server. */
import { count, counted } from '../counts';
import type { Status } from '../server/protocol';
import type { ServerState } from '../server/state';

export interface Description {
  text: string;
  detail: string;
  severity: 'normal' | 'warning' | 'error';
}

export function describe(state: ServerState, status: Status | undefined): Description {
  switch (state.kind) {
    case 'stopped':
      return { text: '$(circle-slash) Winnow', detail: 'The server is stopped.', severity: 'normal' };
    case 'untrusted':
      return { text: '$(shield) Winnow', detail: 'Winnow starts once you trust this workspace.', severity: 'warning' };
    case 'missing':
      return { text: '$(cloud-download) Winnow: set up', detail: state.message, severity: 'warning' };
    case 'failed':
      return { text: '$(error) Winnow', detail: state.message, severity: 'error' };
    case 'starting':
      return { text: '$(loading~spin) Winnow', detail: 'The server is starting.', severity: 'normal' };
    case 'running':
      return status === undefined ? { text: '$(loading~spin) Winnow', detail: 'Waiting for the server.', severity: 'normal' } : running(status);
  }
}

function running({ state, message, index }: Status): Description {
  const detail = message.charAt(0).toUpperCase() + message.slice(1);
  switch (state) {
    case 'loading':
      return { text: '$(loading~spin) Winnow: loading', detail, severity: 'normal' };
    case 'indexing':
      return { text: `$(sync~spin) Winnow: ${count(index.done)}/${count(index.total)}`, detail, severity: 'normal' };
    case 'answering':
      return { text: `$(comment-discussion) Winnow: ${doing(message)}`, detail, severity: 'normal' };
    case 'stale':
      return { text: `$(history) Winnow: ${count(index.staleFiles)} changed`, detail, severity: 'normal' };
    case 'ready':
      return { text: '$(check) Winnow', detail, severity: 'normal' };
    case 'error':
      return { text: '$(error) Winnow', detail, severity: 'error' };
  }
}

/** The first word of a question's stage, such as `reading 512 of 2,900 tokens, about 14 s`. */
function doing(stage: string): string {
  return /^\p{L}+/u.exec(stage)?.[0] ?? 'answering';
}

/** One line a fact, for the tooltip and the details. */
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
    ['Memory', `${count(Math.round(memoryBytes / 1e6))} MB`],
  ];
}

function model({ name, state, error }: Status['models']['drafter']): string {
  return error === undefined ? `${name}, ${state}` : `${name}, ${state}: ${error}`;
}
