/** Switches the model that answers: those that are here, and servers that run on this machine or answered before. */
import * as vscode from 'vscode';
import type { Session } from '../server/session';
import { settings } from '../settings';
import { telling } from '../telling';
import { choices, isServer } from './choices';
import { suggestModels } from './pulling';

const KEY = 'winnow.servers';
const MOST_SERVERS = 5;

/** `memory` has the servers that answered before. */
export function registerChoosing(session: Session, memory: vscode.Memento): vscode.Disposable {
  return vscode.commands.registerCommand('winnow.chooseTarget', () => telling(() => choose(session, memory)));
}

async function choose({ state }: Session, memory: vscode.Memento): Promise<void> {
  const { target } = settings();
  const servers = [...new Set([...(isServer(target) ? [target] : []), ...memory.get<string[]>(KEY, [])])].slice(0, MOST_SERVERS);
  await memory.update(KEY, servers);
  const offered = (state.kind === 'running' ? suggestModels(state.command) : Promise.resolve(undefined)).then((found) => choices(found, target, servers));
  const chosen = await vscode.window.showQuickPick(offered, { title: 'Winnow: the model that answers', placeHolder: 'A server gets the code that is kept for a question' });
  if (chosen === undefined) return;
  if (chosen.target === '') await vscode.commands.executeCommand('workbench.action.openSettings', '@id:winnow.target');
  else await vscode.workspace.getConfiguration('winnow').update('target', chosen.target, vscode.ConfigurationTarget.Global);
}
