/** The status bar item, and the details a click on it shows. */
import * as vscode from 'vscode';
import type { Session } from '../server/session';
import { describe, facts } from './describe';

const BACKGROUND = {
  normal: undefined,
  warning: new vscode.ThemeColor('statusBarItem.warningBackground'),
  error: new vscode.ThemeColor('statusBarItem.errorBackground'),
};
const ACTIONS: [label: string, command: string][] = [
  ['$(comment-discussion) Ask a question', 'winnow.askQuestion'],
  ['$(sync) Update the index', 'winnow.updateIndex'],
  ['$(debug-restart) Restart the server', 'winnow.restartServer'],
  ['$(cloud-download) Download models', 'winnow.pullModels'],
  ['$(tools) Set up', 'winnow.setUp'],
  ['$(output) Show output', 'winnow.showOutput'],
];

export function registerStatusBar(session: Session): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('winnow.status', vscode.StatusBarAlignment.Right, 100);
  item.name = 'Winnow';
  item.command = 'winnow.showStatus';
  const update = (): void => { show(item, session); };
  update();
  item.show();
  return vscode.Disposable.from(
    item,
    session.onDidChange(update),
    session.onDidReport(update),
    vscode.commands.registerCommand('winnow.showStatus', () => showDetails(session)),
  );
}

function show(item: vscode.StatusBarItem, session: Session): void {
  const { text, detail, severity } = describe(session.state, session.status);
  item.text = text;
  item.backgroundColor = BACKGROUND[severity];
  item.accessibilityInformation = { label: `Winnow: ${detail}`, role: 'button' };
  const tooltip = new vscode.MarkdownString('', true);
  tooltip.appendText(detail);
  for (const [name, value] of facts(session.state, session.status)) tooltip.appendMarkdown(`\n\n**${name}** `).appendText(value);
  item.tooltip = tooltip;
}

async function showDetails(session: Session): Promise<void> {
  const { detail } = describe(session.state, session.status);
  const about = facts(session.state, session.status).map(([label, description]) => ({ label, description, command: '' }));
  const actions = ACTIONS.map(([label, command]) => ({ label, command }));
  const separator = { label: '', kind: vscode.QuickPickItemKind.Separator, command: '' };
  const chosen = await vscode.window.showQuickPick([...actions, separator, ...about], { title: `Winnow: ${detail}`, matchOnDescription: true });
  if (chosen?.command) await vscode.commands.executeCommand(chosen.command);
}
