/** Commands that ask: from the palette, the editor's menu, and the server's code actions and lenses. */
import * as vscode from 'vscode';
import type { AskView, Question, Topic } from '../ask/contract';
import { currentPlace, plain, relativePath } from '../asking/places';
import type { AskParams } from '../server/protocol';

export function registerAsking(view: AskView): vscode.Disposable {
  const about = (topic: Topic) => async (): Promise<void> => {
    const question = questionAbout(topic);
    if (question !== undefined) await view.ask(question);
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand('winnow.askQuestion', (text?: unknown) => view.show(typeof text === 'string' ? text : undefined)),
    vscode.commands.registerCommand('winnow.askSelection', () => view.show()),
    vscode.commands.registerCommand('winnow.newConversation', async () => {
      await view.clear();
      await view.show();
    }),
    vscode.commands.registerCommand('winnow.stop', () => { view.stop(); }),
    vscode.commands.registerCommand('winnow.explainCode', about('code')),
    vscode.commands.registerCommand('winnow.explainUsage', about('usage')),
    vscode.commands.registerCommand('winnow.explainImpact', about('impact')),
    vscode.commands.registerCommand('winnow.explainWhy', about('why')),
    vscode.commands.registerCommand('winnow.explainDiagnostic', about('diagnostic')),
  );
}

/** About the selection, else the symbol at the cursor; for a diagnostic, those that touch it. Says so if there is nothing. */
export function questionAbout(topic: Topic, editor = vscode.window.activeTextEditor): Question | undefined {
  const place = currentPlace(editor);
  if (editor === undefined || place === undefined) {
    tell('Open a file of the workspace first.');
    return undefined;
  }
  const at = { ...place, range: plain(editor.selection) };
  if (topic !== 'diagnostic') return { about: topic, place: at };
  const touching = problems(editor);
  const [first] = touching;
  if (first === undefined) {
    tell('There is no problem at the cursor.');
    return undefined;
  }
  const diagnostics = touching.map(({ message }) => ({ message }));
  return { about: topic, diagnostics, place: { ...at, range: plain(first.range) } };
}

/** The argument of the server's `winnow.ask` and `winnow.explain`, as a question of the view. */
export function questionOf({ question, about, diagnostics, textDocument, range, position, conversation }: AskParams): Question {
  const at = range ?? (position && { start: position, end: position });
  const place = textDocument && { uri: textDocument.uri, label: placeLabel(textDocument.uri, at), ...(at && { range: at }) };
  return {
    ...(question !== undefined && { text: question }),
    ...(about && { about }),
    ...(diagnostics && { diagnostics }),
    ...(place && { place }),
    ...(conversation !== undefined && { conversation }),
  };
}

function placeLabel(uri: string, range: AskParams['range']): string {
  return range === undefined ? relativePath(uri) : `${relativePath(uri)}:${range.start.line + 1}`;
}

function problems(editor: vscode.TextEditor): vscode.Diagnostic[] {
  const all = vscode.languages.getDiagnostics(editor.document.uri);
  const touching = all.filter((diagnostic) => diagnostic.range.intersection(editor.selection) !== undefined);
  return touching.length > 0 ? touching : all.filter((diagnostic) => diagnostic.range.start.line === editor.selection.active.line);
}

function tell(message: string): void {
  void vscode.window.showInformationMessage(`Winnow: ${message}`);
}
