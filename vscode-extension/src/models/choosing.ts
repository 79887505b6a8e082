/** Switches the model that answers among those that are here. */
import * as vscode from 'vscode';
import { megabytes } from '../figures';
import type { Session } from '../server/session';
import { settings } from '../settings';
import { telling } from '../telling';
import { listModels } from './pulling';

export function registerChoosing(session: Session): vscode.Disposable {
  return vscode.commands.registerCommand('winnow.chooseTarget', () => telling(() => choose(session)));
}

async function choose(session: Session): Promise<void> {
  const { state } = session;
  const models = state.kind === 'running' ? await listModels(state.command) : [];
  const here = models.filter((model) => model.state === 'ok' && model.roles.includes('target'));
  const { target } = settings();
  const items = here.map(({ name, bytes }) => ({ label: name, description: name === target ? `${megabytes(bytes)}, answers now` : megabytes(bytes), name }));
  const other = { label: '$(gear) A model file or a server…', description: 'winnow.target', name: '' };
  const chosen = await vscode.window.showQuickPick([...items, other], { title: 'Winnow: the model that answers' });
  if (chosen === undefined) return;
  if (chosen.name === '') await vscode.commands.executeCommand('workbench.action.openSettings', '@id:winnow.target');
  else await vscode.workspace.getConfiguration('winnow').update('target', chosen.name, vscode.ConfigurationTarget.Global);
}
