/** Context keys that complete steps of the walkthrough. */
import * as vscode from 'vscode';
import type { Session } from '../server/session';

export function registerContext(session: Session): vscode.Disposable {
  const set = (name: string, value: boolean): void => {
    void vscode.commands.executeCommand('setContext', `winnow.${name}`, value);
  };
  return vscode.Disposable.from(
    session.onDidChange((state) => { set('serverRuns', state.kind === 'running'); }),
    session.onDidReport(({ models }) => { set('modelsReady', models.drafter.state === 'ready' && models.target.state === 'ready'); }),
  );
}
