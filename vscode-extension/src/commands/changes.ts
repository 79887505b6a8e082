/** Commands about what changed, from the palette and the source-control view. */
import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { AskView } from '../ask/view';
import { sendCommand } from '../asking/requests';
import { ServerCommand } from '../server/protocol';
import type { Session } from '../server/session';
import { telling } from '../telling';
import { working } from '../working';
import { repositoriesOf, type Repository } from './reviewed';

/** The part of the Git extension's interface that is used. */
interface Git {
  getAPI(version: 1): { repositories: Repository[] };
}

export function registerChanges(view: AskView, session: Session): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand('winnow.askChanges', () => view.show('@changes ')),
    vscode.commands.registerCommand('winnow.proposeMessage', (of?: vscode.SourceControl) => telling(() => propose(session, of?.rootUri?.toString()))),
  );
}

async function propose(session: Session, root: string | undefined): Promise<void> {
  const git = await vscode.extensions.getExtension<Git>('vscode.git')?.activate();
  const meant = repositoriesOf(git?.getAPI(1).repositories ?? [], root);
  if (meant.length === 0) throw new Error('Open a folder with a git repository first.');
  const repository = meant.length === 1 ? meant[0] : await pick(meant);
  if (repository === undefined) return;
  const made = await working('proposing a commit message', async (listener, token) =>
    sendCommand(await session.ready(token), ServerCommand.commitMessage, [{ repository: repository.rootUri.toString() }], listener, token));
  const { message } = (made ?? {}) as { message?: string };
  if (message) repository.inputBox.value = message;
}

async function pick(repositories: readonly Repository[]): Promise<Repository | undefined> {
  const items = repositories.map((repository) => ({ label: basename(repository.rootUri.fsPath), description: repository.rootUri.fsPath, repository }));
  return (await vscode.window.showQuickPick(items, { placeHolder: 'The repository to propose a commit message for' }))?.repository;
}
