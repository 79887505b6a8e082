/** Offers to download the models that the settings name. */
import * as vscode from 'vscode';
import { megabytes } from '../figures';
import type { Found } from '../server/finding';
import type { Status } from '../server/protocol';
import { lacksModels } from '../server/remedies';
import type { Session } from '../server/session';
import { UserError } from '../server/state';
import { settings } from '../settings';
import { telling } from '../telling';
import { listModels, pullModels, suggestModels } from './pulling';
import { lacking, type Model } from './steps';

export function registerModels(session: Session, find: () => Promise<Found | undefined>, log: vscode.LogOutputChannel): vscode.Disposable {
  let offered = '';
  /** The failure that was looked into last; empty once no model is lacking. */
  let lookedInto = '';
  const wanted = async (command: string): Promise<Model[]> => {
    const { drafter, target } = settings();
    return lacking(await listModels(command), drafter, target, () => suggestModels(command));
  };

  /** Offer each combination of missing models once. */
  const offer = async (command: string): Promise<void> => {
    const models = await wanted(command);
    const key = models.map((model) => model.name).join(' ');
    if (key === offered) return;
    offered = key;
    if (models.length === 0) return;
    const names = models.map((model) => `${model.name} (${megabytes(model.bytes)}, ${model.licence})`).join(' and ');
    const choice = await vscode.window.showInformationMessage(`Winnow answers with models on this machine. Not downloaded yet: ${names}.`, 'Download');
    if (choice === 'Download') await download(command, models);
  };
  const download = async (command: string, models: readonly Model[]): Promise<void> => {
    if (await pullModels(command, models, log)) await session.restartByHand();
  };
  const pull = async (): Promise<void> => {
    if (!vscode.workspace.isTrusted) throw new UserError('models are downloaded once you trust this workspace.');
    const found = await find();
    if (found === undefined) return void vscode.commands.executeCommand('winnow.setUp');
    const models = await wanted(found.command);
    if (models.length > 0) await download(found.command, models);
    else void vscode.window.showInformationMessage('Winnow: the models that the settings name are downloaded.');
  };

  return vscode.Disposable.from(
    vscode.commands.registerCommand('winnow.pullModels', () => telling(pull)),
    session.onDidReport((status) => {
      const { state } = session;
      if (state.kind !== 'running') return;
      const failure = lacksModels(status) ? failureOf(status) : '';
      const known = failure === lookedInto;
      lookedInto = failure; // before anything is awaited: there are ten reports a second while files are indexed
      if (failure !== '' && !known) void telling(() => offer(state.command).catch((error: unknown) => { lookedInto = ''; throw error; }));
    }),
  );
}

/** What tells one failure of the models from another. */
function failureOf({ models }: Status): string {
  return JSON.stringify([models.drafter, models.target].map(({ name, state, kind }) => [name, state, kind]));
}
