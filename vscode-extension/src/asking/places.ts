/** Where in the workspace the editor is, and how places are named for people. */
import * as vscode from 'vscode';
import type { Location, Place } from '../ask/contract';

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

/** Relative to the workspace folder, after the folder's name if there are several. */
export function relativePath(uri: string): string {
  return vscode.workspace.asRelativePath(vscode.Uri.parse(uri, true));
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
