/** “Winnow: Set Up”: installs the server into its own environment with the user's consent, or takes a program that they choose. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import * as vscode from 'vscode';
import { findServer } from '../server/finding';
import { activePython, machine, ownEnvironment, ownProgram } from '../server/machine';
import { output } from '../server/process';
import { whyNotWinnow } from '../server/program';
import type { Session } from '../server/session';
import { UserError } from '../server/state';
import { settings } from '../settings';
import { telling } from '../telling';
import { install } from './install';
import { indexIn, isNewEnough, packages, WEIGHTS } from './plan';

const QUESTION =
  'Winnow needs its server, a Python program. Install it into its own environment? This downloads the server and llama.cpp. If there is no llama.cpp for this machine, it is built in a few minutes, with a compiler that is downloaded if needed.';

export function registerSetUp(context: vscode.ExtensionContext, session: Session, log: vscode.LogOutputChannel): vscode.Disposable {
  const setUp = async (): Promise<void> => {
    const choice = await vscode.window.showInformationMessage(QUESTION, { modal: true }, 'Install', 'Choose Program…');
    if (choice === 'Install') await installOwn(context, session, log);
    if (choice === 'Choose Program…') await chooseProgram();
  };
  const offer = async (): Promise<void> => {
    if ((await vscode.window.showWarningMessage('Winnow did not find its server.', 'Set Up')) === 'Set Up') await setUp();
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand('winnow.setUp', () => telling(setUp)),
    session.onDidChange((state) => {
      if (state.kind === 'missing') void telling(offer);
    }),
  );
}

async function installOwn(context: vscode.ExtensionContext, session: Session, log: vscode.LogOutputChannel): Promise<void> {
  if (!vscode.workspace.isTrusted) throw new UserError('the server is installed once you trust this workspace.');
  const python = await somePython(log);
  const builder = context.asAbsolutePath('dist/llama/build.py');
  const server = context.asAbsolutePath('dist/server');
  const index = process.env.WINNOW_WHEELS ?? indexIn(await readFile(`${server}/${WEIGHTS}`, 'utf8').catch(() => '')) ?? '';
  const wanted = packages(settings().serverPackage, server, await readdir(server).catch(() => []), index, existsSync);
  const done = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: 'Winnow: installing its server', cancellable: true },
    (progress, token) => install(python, ownEnvironment(context), builder, wanted, index, progress, log, token),
  );
  if (!done) return;
  const own = ownProgram(context);
  const found = await findServer(machine(context, log)).catch(() => undefined);
  if (found?.command !== own) await use(own); // otherwise another program would come first
  await session.restartByHand();
}

async function chooseProgram(): Promise<void> {
  if (!vscode.workspace.isTrusted) throw new UserError('a program is chosen once you trust this workspace.');
  const [file] = (await vscode.window.showOpenDialog({ title: 'The winnow program', openLabel: 'Use' })) ?? [];
  if (file === undefined) return;
  const why = await whyNotWinnow(file.fsPath);
  if (why === undefined) return use(file.fsPath);
  if ((await vscode.window.showErrorMessage(`Winnow: ${why}`, 'Choose Another…')) === 'Choose Another…') await chooseProgram();
}

async function use(program: string): Promise<void> {
  await vscode.workspace.getConfiguration('winnow').update('server.path', program, vscode.ConfigurationTarget.Global);
}

/** A Python of version 3.11 or newer. */
async function somePython(log: vscode.LogOutputChannel): Promise<string> {
  for (const python of [await activePython(log), 'python3', 'python']) {
    if (python !== undefined && (await version(python).then(isNewEnough, () => false))) return python;
  }
  throw new UserError('Python 3.11 or newer must be on PATH, or selected in the Python extension.');
}

async function version(python: string): Promise<string> {
  return (await output(python, ['--version'])).stdout.trim();
}
