/** Commands about the server, and the events that restart it. */
import * as vscode from 'vscode';
import { ServerCommand } from '../server/protocol';
import type { Session } from '../server/session';
import { concernsServer, needsRestart } from '../settings';
import { telling } from '../telling';

export function registerServerCommands(session: Session, log: vscode.LogOutputChannel): vscode.Disposable {
  const updateIndex = async (): Promise<void> => {
    await session.ready();
    await vscode.commands.executeCommand(ServerCommand.reindex);
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand('winnow.restartServer', () => session.restartByHand()),
    vscode.commands.registerCommand('winnow.showOutput', () => { log.show(true); }),
    vscode.commands.registerCommand('winnow.updateIndex', () => telling(updateIndex)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void session.restart()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (needsRestart(event)) void session.restartByHand();
      else if (concernsServer(event)) session.settingsChanged();
    }),
  );
}
