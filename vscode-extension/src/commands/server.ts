/** Commands about the server, and the events that restart it. */
import * as vscode from 'vscode';
import { sendCommand } from '../asking/requests';
import { ServerCommand } from '../server/protocol';
import type { Session } from '../server/session';
import { concernsServer, settings } from '../settings';
import { telling } from '../telling';

export function registerServerCommands(session: Session, log: vscode.LogOutputChannel): vscode.Disposable {
  let path = settings().serverPath; // VS Code reports it as changed when a workspace is trusted, too
  const updateIndex = async (): Promise<void> => {
    await sendCommand(await session.ready(), ServerCommand.reindex, []); // the status bar shows how far it is
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand('winnow.restartServer', () => session.restartByHand()),
    vscode.commands.registerCommand('winnow.showOutput', () => { log.show(true); }),
    vscode.commands.registerCommand('winnow.chooseModels', () => vscode.commands.executeCommand('workbench.action.openSettings', '@id:winnow.target,winnow.drafter')),
    vscode.commands.registerCommand('winnow.updateIndex', () => telling(updateIndex)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void session.restart()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => { if (session.state.kind === 'folderless') void session.restart(); }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (!concernsServer(event)) return;
      if (settings().serverPath === path) session.settingsChanged();
      else void session.restartByHand();
      path = settings().serverPath;
    }),
  );
}
