/** “Why These Spans?”: for the last answer, or for a question that nobody answers. */
import * as vscode from 'vscode';
import type { AskService, Disposable, Question } from '../ask/contract';
import { askParams } from '../asking/service';
import { reason, sendSpans, wasStopped } from '../asking/requests';
import type { SpansResult } from '../server/protocol';
import type { Session } from '../server/session';
import type { SpansView } from '../spans/register';

export interface SpansCommands extends Disposable {
  /** What would be kept for a question, shown in the spans view; undefined if cancelled. */
  readonly search: (question: Question) => Promise<SpansResult | undefined>;
}

export function registerSpansCommands(session: Session, service: AskService, spans: SpansView): SpansCommands {
  const search = async (question: Question): Promise<SpansResult | undefined> => {
    const result = await vscode.window.withProgress(
      { location: { viewId: 'winnow.spansView' }, title: 'Winnow: searching', cancellable: true },
      async (progress, token) => sendSpans(await session.ready(token), askParams(question), { progress: (message) => { progress.report({ message }); } }, token),
    );
    await spans.reveal(result);
    return result;
  };
  const tell = (error: unknown): undefined => {
    if (!wasStopped(error)) void vscode.window.showErrorMessage(reason(error));
    return undefined;
  };
  const why = async (): Promise<void> => {
    const last = service.history().findLast((exchange) => exchange.spans.length > 0);
    if (last !== undefined) return spans.reveal(last);
    await searchByHand();
  };
  const searchByHand = async (): Promise<void> => {
    const text = await vscode.window.showInputBox({ title: 'Which code would Winnow keep for this question?', placeHolder: 'Where is the delivery fee decided?' });
    if (text?.trim()) await search({ text }).catch(tell);
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
  return { search: (question) => search(question).catch(tell), dispose: () => { all.dispose(); } };
}
