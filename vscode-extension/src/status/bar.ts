/** The status bar item, and the details a click on it shows. */
import * as vscode from 'vscode';
import { remedies, type Remedy } from '../server/remedies';
import type { Session } from '../server/session';
import { whyNot } from '../server/state';
import { describe, facts } from './describe';

const BACKGROUND = {
  normal: undefined,
  warning: new vscode.ThemeColor('statusBarItem.warningBackground'),
  error: new vscode.ThemeColor('statusBarItem.errorBackground'),
};
const ACTIONS: Remedy[] = [
  { label: '$(comment-discussion) Ask a question', command: 'winnow.askQuestion' },
  { label: '$(sync) Update the index', command: 'winnow.updateIndex' },
  { label: '$(debug-restart) Restart the server', command: 'winnow.restartServer' },
  { label: '$(cloud-download) Download models', command: 'winnow.pullModels' },
  { label: '$(tools) Set up', command: 'winnow.setUp' },
  { label: '$(output) Show output', command: 'winnow.showOutput' },
];

export function registerStatusBar(session: Session): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('winnow.status', vscode.StatusBarAlignment.Right, 100);
  item.name = 'Winnow';
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
  item.command = isStopped(session) ? remedies(session.state)[0]?.command : 'winnow.showStatus';
  item.backgroundColor = BACKGROUND[severity];
  item.accessibilityInformation = { label: `Winnow: ${detail}`, role: 'button' };
  const tooltip = new vscode.MarkdownString('', true);
  tooltip.appendText(detail);
  for (const [name, value] of facts(session.state, session.status)) tooltip.appendMarkdown(`\n\n**${name}** `).appendText(value);
  item.tooltip = tooltip;
}

/** Whether nothing runs or starts: a click then does the fitting thing at once. */
function isStopped({ state }: Session): boolean {
  return whyNot(state) !== undefined && state.kind !== 'failed';
}

async function showDetails(session: Session): Promise<void> {
  const { detail } = describe(session.state, session.status);
  const about = facts(session.state, session.status).map(([label, description]) => ({ label, description, command: '' }));
  const fitting = remedies(session.state, session.status);
  const usual = ACTIONS.filter(({ command }) => !fitting.some((one) => one.command === command));
  const separator = { label: '', kind: vscode.QuickPickItemKind.Separator, command: '' };
  const chosen = await vscode.window.showQuickPick([...fitting, ...usual, separator, ...about], { title: `Winnow: ${detail}`, matchOnDescription: true });
  if (chosen?.command) await vscode.commands.executeCommand(chosen.command);
}
