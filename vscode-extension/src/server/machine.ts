/** The facts that `findServer` needs, from this machine and VS Code. */
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import * as vscode from 'vscode';
import { settings } from '../settings';
import { executable, scripts, type Machine } from './finding';

/** The part of the Python extension's API that is used here. */
interface PythonApi {
  environments: {
    getActiveEnvironmentPath(): { path: string };
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

/** The extension's own virtual environment. */
export function ownEnvironment(context: vscode.ExtensionContext): string {
  return vscode.Uri.joinPath(context.globalStorageUri, 'environment').fsPath;
}

/** The program installed into it. */
export function ownProgram(context: vscode.ExtensionContext): string {
  const windows = process.platform === 'win32';
  return join(scripts(ownEnvironment(context), windows), executable(windows));
}

export function machine(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Machine {
  return {
    configured: settings().serverPath,
    home: homedir(),
    path: (process.env.PATH ?? '').split(delimiter),
    environment: ownEnvironment(context),
    windows: process.platform === 'win32',
    isExecutable,
    python: () => activePython(log),
  };
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(() => true, () => false);
}

/** The interpreter the Python extension has selected; undefined without that extension. */
export async function activePython(log: vscode.LogOutputChannel): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>('ms-python.python');
  if (extension === undefined) return undefined;
  try {
    const { environments } = await extension.activate();
    return (await environments.resolveEnvironment(environments.getActiveEnvironmentPath()))?.executable.uri?.fsPath;
  } catch (error) {
    log.warn(`the Python extension did not say which Python is active: ${String(error)}`);
    return undefined;
  }
}
