/** “Why These Spans?”: for the last answer, or for a question that nobody answers. */
import * as vscode from 'vscode';
import type { AskListener, AskService, CancellationToken, Disposable, Question } from '../ask/contract';
import { askParams } from '../asking/service';
import { reason, sendSpans, wasStopped } from '../asking/requests';
import type { SpansResult } from '../server/protocol';
import type { Session } from '../server/session';
import type { SpansView } from '../spans/register';

/** What would be kept for a question, shown in the spans view. */
export type Find = (question: Question, listener: Pick<AskListener, 'progress'>, token: CancellationToken) => Promise<SpansResult>;

export interface SpansCommands extends Disposable {
  readonly find: Find;
  /** The same, with progress that can be cancelled; undefined if it was, or if the user was told why it failed. */
  readonly search: (question: Question) => Promise<SpansResult | undefined>;
}

export function registerSpansCommands(session: Session, service: AskService, spans: SpansView): SpansCommands {
  const find: Find = async (question, listener, token) => {
    const result = await sendSpans(await session.ready(token), askParams(question), listener, token);
    await spans.reveal(result);
    return result;
  };
  const search = async (question: Question): Promise<SpansResult | undefined> => vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: 'Winnow: searching', cancellable: true }, // a view's has no button
    (progress, token) => find(question, { progress: (message) => { progress.report({ message }); } }, token).catch((error: unknown) => {
      if (!token.isCancellationRequested && !wasStopped(error)) void vscode.window.showErrorMessage(reason(error));
      return undefined;
    }),
  );
  const why = async (): Promise<void> => {
    const last = service.history().findLast((exchange) => exchange.spans.length > 0);
    if (last !== undefined) return spans.reveal(last);
    await searchByHand();
  };
  const searchByHand = async (): Promise<void> => {
    const text = await vscode.window.showInputBox({ title: 'Which code would Winnow keep for this question?', placeHolder: 'Where is the delivery fee decided?' });
    if (text?.trim()) await search({ text });
  };
  const follow = (): void => {
    const last = service.history().at(-1);
    if (last !== undefined && last.spans.length > 0) void spans.update(last);
  };
  const all = vscode.Disposable.from(
    service.onDidChangeHistory(follow),
    vscode.commands.registerCommand('winnow.whyTheseSpans', why),
    vscode.commands.registerCommand('winnow.findSpans', searchByHand),
  );
  return { find, search, dispose: () => { all.dispose(); } };
}
