/** Completions for `@`: files of the workspace from VS Code, and symbols from Winnow's index, in every language it reads. */
import * as vscode from 'vscode';
import { relativePath } from '../asking/places';
import { SymbolsRequest } from '../server/protocol';
import type { Session } from '../server/session';
import { completed, type NamedSymbol } from './completing';
import type { Completion } from './contract';

const MOST_FILES = 20_000;
const FRESH_MS = 30_000;

let known: { at: number; paths: Promise<string[]> } | undefined;

export async function completions(word: string, first: boolean, session: Session): Promise<Completion[]> {
  if (known === undefined || Date.now() - known.at > FRESH_MS) known = { at: Date.now(), paths: paths() };
  const named = word.length > 1 ? symbols(word, session) : [];
  return completed(word, first, await known.paths, await named);
}

async function paths(): Promise<string[]> {
  const uris = await vscode.workspace.findFiles('**/*', '**/{node_modules,.git,.venv,__pycache__,dist,build}/**', MOST_FILES);
  return uris.map((uri) => vscode.workspace.asRelativePath(uri));
}

/** None while no server runs, or if it is older. */
async function symbols(query: string, { client }: Session): Promise<NamedSymbol[]> {
  const found = await client?.sendRequest(SymbolsRequest, { query }).catch(() => undefined);
  return (found?.symbols ?? []).map(({ name, location }) => ({ name, path: relativePath(location.uri) }));
}
