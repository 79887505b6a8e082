/** Sends questions to the server and passes on what comes back. */
import { WorkDoneProgress, type LanguageClient } from 'vscode-languageclient/node';
import { randomUUID } from 'node:crypto';
import type { AskListener, CancellationToken } from '../ask/contract';
import { onKept } from '../server/kept';
import { AskRequest, DeltaProgress, SpansRequest, STOPPED_CODES, type AskParams, type AskResult, type SpansResult } from '../server/protocol';

export async function sendAsk(client: LanguageClient, params: AskParams, listener: AskListener, token: CancellationToken): Promise<AskResult> {
  const partialResultToken = randomUUID();
  const kept = onKept(partialResultToken, (spans) => { listener.kept(spans); });
  const deltas = client.onProgress(DeltaProgress, partialResultToken, ({ text }) => { if (text !== '') listener.delta(text); });
  try {
    return await withProgress(client, listener, (workDoneToken) =>
      client.sendRequest(AskRequest, { ...params, partialResultToken, workDoneToken }, token));
  } finally {
    deltas.dispose();
    kept.dispose();
  }
}

export async function sendSpans(client: LanguageClient, params: AskParams, listener: Pick<AskListener, 'progress'>, token: CancellationToken): Promise<SpansResult> {
  return withProgress(client, listener, (workDoneToken) => client.sendRequest(SpansRequest, { ...params, workDoneToken }, token));
}

/** Whether a request ended because somebody stopped it. */
export function wasStopped(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && STOPPED_CODES.has(error.code as number);
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
