import type * as vscode from 'vscode';
import type { AskService, AskView, Exchange, Question } from './contract';

/** Until the view is there: asks, and shows nothing. */
export function registerAskView(_context: vscode.ExtensionContext, service: AskService): AskView {
  const never = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => undefined }) };
  const nobody = { delta: () => undefined, progress: () => undefined };
  return {
    show: () => Promise.resolve(),
    ask: (question: Question): Promise<Exchange> => service.ask(question, nobody, never),
    clear: () => Promise.resolve(),
    stop: () => undefined,
    dispose: () => undefined,
  };
}
