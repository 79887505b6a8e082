/** Sends questions to the server and passes on its replies. */
import { randomUUID } from 'node:crypto';
import type * as vscode from 'vscode';
import { ErrorCodes, ExecuteCommandRequest, WorkDoneProgress, type LanguageClient } from 'vscode-languageclient/node';
import type { AskListener } from '../ask/contract';
import { onKept } from '../server/kept';
import { AskRequest, DeltaProgress, EditRequest, SpansRequest, STOPPED_CODES, type AskParams, type AskResult, type EditParams, type EditResult, type SpansResult } from '../server/protocol';

/** Codes of the client's errors that end a request after its server has gone. */
const GONE_CODES: ReadonlySet<number> = new Set([ErrorCodes.PendingResponseRejected, ErrorCodes.ConnectionInactive]);

export async function sendAsk(client: LanguageClient, params: AskParams, listener: AskListener, token: vscode.CancellationToken): Promise<AskResult> {
  const partialResultToken = randomUUID();
  const kept = onKept(partialResultToken, (spans, provisional) => { listener.kept(spans, provisional); });
  const deltas = client.onProgress(DeltaProgress, partialResultToken, ({ text, sentences = [] }) => { if (text !== '' || sentences.length > 0) listener.delta(text, sentences); });
  try {
    return await withProgress(client, listener, (workDoneToken) =>
      client.sendRequest(AskRequest, { ...params, partialResultToken, workDoneToken }, token));
  } finally {
    deltas.dispose();
    kept.dispose();
  }
}

export async function sendSpans(client: LanguageClient, params: AskParams, listener: Pick<AskListener, 'progress'>, token: vscode.CancellationToken): Promise<SpansResult> {
  return withProgress(client, listener, (workDoneToken) => client.sendRequest(SpansRequest, { ...params, workDoneToken }, token));
}

export async function sendEdit(client: LanguageClient, params: EditParams, listener: Pick<AskListener, 'progress'>, token: vscode.CancellationToken): Promise<EditResult> {
  return withProgress(client, listener, (workDoneToken) => client.sendRequest(EditRequest, { ...params, workDoneToken }, token));
}

/** The result of one of the server's commands; undefined if it was stopped. */
export async function sendCommand(client: LanguageClient, command: string, args: unknown[], listener?: Pick<AskListener, 'progress'>, token?: vscode.CancellationToken): Promise<unknown> {
  const send = (workDoneToken?: string): Promise<unknown> => client.sendRequest(ExecuteCommandRequest.type, { command, arguments: args, workDoneToken }, token);
  try {
    return await (listener === undefined ? send() : withProgress(client, listener, send));
  } catch (error) {
    if (wasStopped(error)) return undefined;
    throw error;
  }
}

/** Whether a request ended because it was stopped. */
export function wasStopped(error: unknown): boolean {
  return STOPPED_CODES.has(codeOf(error));
}

/** Why a request failed, for people. */
export function reason(error: unknown): string {
  if (GONE_CODES.has(codeOf(error))) return 'the server stopped before it was done; try again';
  return error instanceof Error ? error.message : String(error);
}

function codeOf(error: unknown): number {
  return typeof error === 'object' && error !== null && 'code' in error ? (error.code as number) : 0;
}

async function withProgress<T>(client: LanguageClient, listener: Pick<AskListener, 'progress'>, send: (token: string) => Promise<T>): Promise<T> {
  const token = randomUUID();
  const progress = client.onProgress(WorkDoneProgress.type, token, (value) => {
    if (value.kind !== 'end' && value.message !== undefined) listener.progress(value.message);
  });
  try {
    return await send(token);
  } finally {
    progress.dispose();
  }
}
