/** Reviews of changes: findings become problems, until the next review. */
import * as vscode from 'vscode';
import type { AskListener } from '../ask/contract';
import { toRange } from '../asking/places';
import { sendCommand } from '../asking/requests';
import { counted } from '../figures';
import { ServerCommand } from '../server/protocol';
import type { Session } from '../server/session';
import { telling } from '../telling';
import { working } from '../working';
import type { Confidence, Finding, Review } from './reviewed';

const SEVERITY: Record<Confidence, vscode.DiagnosticSeverity> = {
  high: vscode.DiagnosticSeverity.Warning,
  medium: vscode.DiagnosticSeverity.Warning,
  low: vscode.DiagnosticSeverity.Information,
};

export class Reviews implements vscode.Disposable {
  private readonly problems = vscode.languages.createDiagnosticCollection('winnow');
  private readonly subscriptions: vscode.Disposable;

  constructor(private readonly session: Session) {
    this.subscriptions = vscode.Disposable.from(
      this.problems,
      vscode.commands.registerCommand('winnow.reviewChanges', () => telling(() => this.byHand())),
    );
  }

  /** Review `changes`, such as `working` or `main..topic`; undefined if that was stopped. With `show`, the server shows a page. */
  async review(changes: string, listener: Pick<AskListener, 'progress'>, token: vscode.CancellationToken, show = true): Promise<Review | undefined> {
    const made = (await sendCommand(await this.session.ready(token), ServerCommand.review, [{ changes, show }], listener, token)) as Review | undefined;
    if (made === undefined) return undefined;
    this.problems.clear();
    for (const [uri, findings] of Map.groupBy(made.findings, ({ location }) => location.uri)) this.problems.set(vscode.Uri.parse(uri, true), findings.map(problem));
    return made;
  }

  dispose(): void {
    this.subscriptions.dispose();
  }

  private async byHand(): Promise<void> {
    const made = await working('reviewing changes', (listener, token) => this.review('working', listener, token));
    if (made === undefined) return;
    const show = 'Show Problems';
    const buttons = made.findings.length > 0 ? [show] : [];
    const choice = await vscode.window.showInformationMessage(`Winnow: the review has ${counted(made.findings.length, 'finding')}.`, ...buttons);
    if (choice === show) await vscode.commands.executeCommand('workbench.actions.view.problems');
  }
}

function problem({ location, reason, confidence, rule }: Finding): vscode.Diagnostic {
  const diagnostic = new vscode.Diagnostic(toRange(location.range), reason, SEVERITY[confidence]);
  diagnostic.source = `winnow, ${confidence} confidence`;
  diagnostic.code = rule;
  return diagnostic;
}
