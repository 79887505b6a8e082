import * as vscode from 'vscode';

/** The current lines of a file: of the open document, or else from disk; undefined if the file is gone. */
export async function linesOf(uri: string): Promise<string[] | undefined> {
  const file = vscode.Uri.parse(uri, true);
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === file.toString());
  if (open !== undefined) return split(open.getText());
  try {
    return split(await vscode.workspace.decode(await vscode.workspace.fs.readFile(file), { uri: file })); // opening it would tell the server
  } catch {
    return undefined;
  }
}

function split(text: string): string[] {
  return text.split(/\r\n|\r|\n/);
}
