/** Commands about what changed, from the palette and the source-control view. */
import * as vscode from 'vscode';
import type { AskView } from '../ask/view';
import { toRange } from '../asking/places';
import { counted } from '../figures';
import { ServerCommand } from '../server/protocol';
import type { Session } from '../server/session';
import { telling } from '../telling';
import { repositoryOf, type Confidence, type Finding, type Repository, type Review } from './reviewed';

const SEVERITY: Record<Confidence, vscode.DiagnosticSeverity> = {
  high: vscode.DiagnosticSeverity.Warning,
  medium: vscode.DiagnosticSeverity.Warning,
  low: vscode.DiagnosticSeverity.Information,
};

/** The part of the Git extension's interface that is used. */
interface Git {
  getAPI(version: 1): { repositories: Repository[] };
}

export function registerChanges(view: AskView, session: Session): vscode.Disposable {
  const problems = vscode.languages.createDiagnosticCollection('winnow');
  return vscode.Disposable.from(
    problems,
    vscode.commands.registerCommand('winnow.askChanges', () => view.show('@changes ')),
    vscode.commands.registerCommand('winnow.reviewChanges', () => telling(() => review(session, problems))),
    vscode.commands.registerCommand('winnow.proposeMessage', (of?: vscode.SourceControl) => telling(() => propose(session, of?.rootUri?.toString()))),
  );
}

/** Show the findings as problems, until the next review. */
async function review(session: Session, problems: vscode.DiagnosticCollection): Promise<void> {
  await session.ready();
  const made = await vscode.commands.executeCommand<Review | undefined>(ServerCommand.review, { changes: 'working' });
  if (made === undefined) return;
  problems.clear();
  for (const [uri, findings] of Map.groupBy(made.findings, ({ location }) => location.uri)) problems.set(vscode.Uri.parse(uri, true), findings.map(problem));
  void vscode.window.showInformationMessage(`Winnow: the review has ${counted(made.findings.length, 'finding')}.`);
}

async function propose(session: Session, root: string | undefined): Promise<void> {
  const git = await vscode.extensions.getExtension<Git>('vscode.git')?.activate();
  const repository = repositoryOf(git?.getAPI(1).repositories ?? [], root);
  if (repository === undefined) throw new Error('Open a folder with a git repository first.');
  await session.ready();
  const made = await vscode.commands.executeCommand<{ message: string } | undefined>(ServerCommand.commitMessage, {});
  if (made?.message) repository.inputBox.value = made.message;
}

function problem({ location, reason, confidence, rule }: Finding): vscode.Diagnostic {
  const diagnostic = new vscode.Diagnostic(toRange(location.range), reason, SEVERITY[confidence]);
  diagnostic.source = `winnow, ${confidence} confidence`;
  diagnostic.code = rule;
  return diagnostic;
}
