/** Commands that ask: from the palette, the editor's menu, and the server's code actions and lenses. */
import * as vscode from 'vscode';
import type { Question, Topic } from '../ask/contract';
import type { AskView } from '../ask/view';
import { currentPlace, plain, relativePath } from '../asking/places';
import type { AskParams } from '../server/protocol';

export function registerAsking(view: AskView): vscode.Disposable {
  const about = (topic: Topic) => async (): Promise<void> => {
    const question = questionAbout(topic);
    if (question !== undefined) await view.ask(question);
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand('winnow.askQuestion', (text?: unknown) => view.show(typeof text === 'string' ? text : undefined)),
    vscode.commands.registerCommand('winnow.newConversation', () => view.clear()),
    vscode.commands.registerCommand('winnow.explainCode', about('code')),
    vscode.commands.registerCommand('winnow.explainUsage', about('usage')),
    vscode.commands.registerCommand('winnow.explainImpact', about('impact')),
    vscode.commands.registerCommand('winnow.explainWhy', about('why')),
  );
}

/** A question about the selection, or else the symbol at the cursor. Without an open file, undefined; the user is told. */
export function questionAbout(topic: Topic): Question | undefined {
  const editor = vscode.window.activeTextEditor;
  const place = currentPlace(editor);
  if (editor !== undefined && place !== undefined) return { about: topic, place: { ...place, range: plain(editor.selection) } };
  void vscode.window.showInformationMessage('Winnow: open a file of the workspace first.');
  return undefined;
}

/** The argument of the server's `winnow.ask` and `winnow.explain`, as a question of the view. */
export function questionOf({ question, about, diagnostics, textDocument, range, position, conversation }: AskParams): Question {
  const at = range ?? (position && { start: position, end: position });
  const place = textDocument && { uri: textDocument.uri, label: placeLabel(textDocument.uri, at), range: at };
  return { text: question, about, diagnostics, place, conversation };
}

function placeLabel(uri: string, range: AskParams['range']): string {
  return range === undefined ? relativePath(uri) : `${relativePath(uri)}:${range.start.line + 1}`;
}
