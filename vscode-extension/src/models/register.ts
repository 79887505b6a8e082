/** Offers the models that the settings name and that are not here. */
import * as vscode from 'vscode';
import type { Found } from '../server/finding';
import type { Session } from '../server/session';
import { UserError } from '../server/state';
import { settings } from '../settings';
import { listModels, pullModels } from './pulling';
import { megabytes, missing, type Model } from './steps';

export function registerModels(session: Session, find: () => Promise<Found | undefined>, log: vscode.LogOutputChannel): vscode.Disposable {
  let offered = '';
  const wanted = async (command: string): Promise<Model[]> => missing(await listModels(command), [settings().drafter, settings().target]);

  /** Once for each combination of models that is not here. */
  const offer = async (command: string): Promise<void> => {
    const models = await wanted(command);
    const key = models.map((model) => model.name).join(' ');
    if (key === offered) return;
    offered = key;
    if (models.length === 0) return;
    const names = models.map((model) => `${model.name} (${megabytes(model.bytes)}, ${model.licence})`).join(' and ');
    const choice = await vscode.window.showInformationMessage(`Winnow answers with models on this machine. Not here yet: ${names}.`, 'Download');
    if (choice === 'Download') await download(command, models);
  };
  const download = async (command: string, models: readonly Model[]): Promise<void> => {
    if (await pullModels(command, models, log)) await session.restartByHand();
  };
  const pull = async (): Promise<void> => {
    if (!vscode.workspace.isTrusted) throw new UserError('Winnow downloads models once you trust this workspace.');
    const found = await find();
    if (found === undefined) return void vscode.commands.executeCommand('winnow.setUp');
    const models = await wanted(found.command);
    if (models.length > 0) await download(found.command, models);
    else void vscode.window.showInformationMessage('The models that the settings name are here.');
  };

  return vscode.Disposable.from(
    vscode.commands.registerCommand('winnow.pullModels', () => pull().catch(tell)),
    session.onDidReport(({ models }) => {
      const { state } = session;
      const failed = models.drafter.state === 'failed' || models.target.state === 'failed';
      if (failed && state.kind === 'running') void offer(state.command).catch(tell);
    }),
  );
}

function tell(error: unknown): void {
  void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
}
