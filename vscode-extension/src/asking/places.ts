/** Where in the workspace the editor is, and how places are named for people. */
import * as vscode from 'vscode';
import type { Location, Place } from '../ask/contract';
import type { CitedBefore } from '../server/protocol';

const SHORT_HASH = 9;

/** What the Git extension reads from the address of one of its documents. */
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
  return { uri: document.uri.toString(), range: plain(selection), label: `${name}:${lines(selection)}` };
}

/** The cursor in a file, if an editor shows it. */
export function cursorIn(uri: string): vscode.Position | undefined {
  const editors = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors];
  return editors.find((editor) => editor?.document.uri.toString() === uri)?.selection.active;
}

export function isInWorkspace(uri: vscode.Uri): boolean {
  return uri.scheme === 'file' && vscode.workspace.getWorkspaceFolder(uri) !== undefined;
}

/** Relative to the workspace folder, after the folder's name if there are several; then the commit, if it is of one. */
export function relativePath(uri: string): string {
  const parsed = vscode.Uri.parse(uri, true);
  if (parsed.scheme !== 'git') return vscode.workspace.asRelativePath(parsed);
  const { ref } = JSON.parse(parsed.query) as GitQuery;
  return `${vscode.workspace.asRelativePath(vscode.Uri.file(parsed.path))} at ${ref.slice(0, SHORT_HASH)}`;
}

/** Lines of a file as a commit has them: a document of VS Code's own Git extension. */
export function atCommit({ location: { uri, range }, commit }: CitedBefore): Location {
  const file = vscode.Uri.parse(uri, true);
  const query: GitQuery = { path: file.fsPath, ref: commit };
  return { uri: file.with({ scheme: 'git', query: JSON.stringify(query) }).toString(), range };
}

/** `path:first-last`. */
export function label(location: Location): string {
  return `${relativePath(location.uri)}:${lines(location.range)}`;
}

/** First and last line, counted from 1; a range that ends at the start of a line does not hold that line. */
export function lines(range: Location['range']): string {
  const last = range.end.character === 0 && range.end.line > range.start.line ? range.end.line : range.end.line + 1;
  return last === range.start.line + 1 ? `${last}` : `${range.start.line + 1}-${last}`;
}

export function plain(range: vscode.Range): Location['range'] {
  const position = ({ line, character }: vscode.Position): Location['range']['start'] => ({ line, character });
  return { start: position(range.start), end: position(range.end) };
}

export function toRange({ start, end }: Location['range']): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

/** Open a file at its lines; says so if it is gone. */
export async function openLocation(location: Location): Promise<void> {
  try {
    const selection = toRange(location.range);
    const editor = await vscode.window.showTextDocument(vscode.Uri.parse(location.uri, true), { selection: new vscode.Range(selection.start, selection.start) });
    editor.revealRange(selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  } catch (error) {
    void vscode.window.showWarningMessage(`Winnow cannot open ${relativePath(location.uri)}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
