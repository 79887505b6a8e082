/** Completions for `@` from VS Code: files of the workspace, and symbols that its language extensions know. */
import * as vscode from 'vscode';
import { isInWorkspace } from '../asking/places';
import { completed, type NamedSymbol } from './completing';
import type { Completion } from './contract';

const MOST_FILES = 20_000;
const FRESH_MS = 30_000;
/** Symbols that come later are left out. */
const WAIT_MS = 400;

let known: { at: number; paths: Promise<string[]> } | undefined;

export async function completions(word: string, first: boolean): Promise<Completion[]> {
  if (known === undefined || Date.now() - known.at > FRESH_MS) known = { at: Date.now(), paths: paths() };
  const late = new Promise<NamedSymbol[]>((resolve) => { setTimeout(() => { resolve([]); }, WAIT_MS); });
  const named = word.length > 1 ? Promise.race([symbols(word), late]) : [];
  return completed(word, first, await known.paths, await named);
}

async function paths(): Promise<string[]> {
  const uris = await vscode.workspace.findFiles('**/*', '**/{node_modules,.git,.venv,__pycache__,dist,build}/**', MOST_FILES);
  return uris.map((uri) => vscode.workspace.asRelativePath(uri));
}

async function symbols(word: string): Promise<NamedSymbol[]> {
  const found = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>('vscode.executeWorkspaceSymbolProvider', word);
  return (found ?? []).filter(({ location }) => isInWorkspace(location.uri)).map(({ name, location }) => ({ name, path: vscode.workspace.asRelativePath(location.uri) }));
}
