/** The editor's place in the workspace, and names of places for people. */
import * as vscode from 'vscode';
import type { Location, Place, Position } from '../ask/contract';
import { lineLabel } from '../lines';
import type { CitedBefore } from '../server/protocol';

const SHORT_HASH = 9;

/** The query in the address of one of the Git extension's documents. */
interface GitQuery {
  path: string;
  ref: string;
}

/** The file and selection of the active editor; undefined outside of the workspace. */
export function currentPlace(editor = vscode.window.activeTextEditor): Place | undefined {
  if (editor === undefined || !isInWorkspace(editor.document.uri)) return undefined;
  const { document, selection } = editor;
  const name = relativePath(document.uri.toString());
  if (selection.isEmpty) return { uri: document.uri.toString(), label: name };
  return { uri: document.uri.toString(), range: plain(selection), label: `${name}:${lineLabel(selection)}` };
}

/** The cursor in a file, if an editor shows it. */
export function cursorIn(uri: string): Position | undefined {
  const editors = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors];
  return editors.find((editor) => editor?.document.uri.toString() === uri)?.selection.active;
}

export function isInWorkspace(uri: vscode.Uri): boolean {
  return uri.scheme === 'file' && vscode.workspace.getWorkspaceFolder(uri) !== undefined;
}

/** A path relative to the workspace folder, after the folder's name if there are several; then the commit, if any. */
export function relativePath(uri: string): string {
  const parsed = vscode.Uri.parse(uri, true);
  if (parsed.scheme !== 'git') return vscode.workspace.asRelativePath(parsed);
  const { ref } = JSON.parse(parsed.query) as GitQuery;
  return `${vscode.workspace.asRelativePath(vscode.Uri.file(parsed.path))} at ${ref.slice(0, SHORT_HASH)}`;
}

/** Lines of a file in a commit: a document of VS Code's own Git extension. */
export function atCommit({ location: { uri, range }, commit }: CitedBefore): Location {
  const file = vscode.Uri.parse(uri, true);
  const query: GitQuery = { path: file.fsPath, ref: commit };
  return { uri: file.with({ scheme: 'git', query: JSON.stringify(query) }).toString(), range };
}

/** `path:first-last`. */
export function label(location: Location): string {
  return `${relativePath(location.uri)}:${lineLabel(location.range)}`;
}

/** VS Code's own ranges become arrays in JSON. */
export function plain({ start, end }: vscode.Range): Location['range'] {
  return { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } };
}

export function toRange({ start, end }: Location['range']): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

/** Open a file at its lines, or tell the user that it is gone. */
export async function openLocation(location: Location): Promise<void> {
  try {
    const selection = toRange(location.range);
    const editor = await vscode.window.showTextDocument(vscode.Uri.parse(location.uri, true), { selection: new vscode.Range(selection.start, selection.start) });
    editor.revealRange(selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  } catch (error) {
    void vscode.window.showWarningMessage(`Winnow cannot open ${relativePath(location.uri)}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
