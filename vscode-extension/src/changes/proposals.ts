/** Proposed changes of the code: each is shown as a diff, to accept, to discard or to have made anew. */
import * as vscode from 'vscode';
import { relativePath } from '../asking/places';
import { reason, sendEdit } from '../asking/requests';
import type { EditParams } from '../server/protocol';
import type { Session } from '../server/session';
import { telling } from '../telling';
import { working } from '../working';
import { edited, tabTitle } from './edited';

/** Schemes of the proposed text, which `when` clauses in package.json name. */
const CHANGE = 'winnow-change';
const REJECTED = 'winnow-rejected';

interface Proposal {
  wanted: EditParams;
  title: string;
  /** Why it should not be made. */
  rejected: string | undefined;
  file: vscode.Uri;
  /** The address of the proposed text. */
  uri: vscode.Uri;
  before: string;
  after: string;
  edits: vscode.TextEdit[];
}

export class Proposals implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly open = new Map<string, Proposal>();
  private readonly subscriptions: vscode.Disposable;
  private count = 0;

  constructor(private readonly session: Session) {
    const command = (name: string, act: (proposal: Proposal) => Promise<unknown>): vscode.Disposable =>
      vscode.commands.registerCommand(`winnow.${name}`, (uri?: vscode.Uri) => telling(async () => {
        const proposal = this.find(uri);
        if (proposal !== undefined) await act(proposal);
      }));
    this.subscriptions = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(CHANGE, this),
      vscode.workspace.registerTextDocumentContentProvider(REJECTED, this),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => { for (const tab of closed) void this.closed(tab); }),
      command('acceptChange', (proposal) => this.accept(proposal)),
      command('discardChange', (proposal) => this.close(proposal)),
      command('proposeAgain', (proposal) => this.again(proposal)),
    );
    void closeTabs((uri) => !this.open.has(uri.toString())); // of an earlier window: their text is gone
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.open.get(uri.toString())?.after ?? '';
  }

  /** Have a change proposed, and show it; resolves once it is shown, or the user knows why there is none. */
  async propose(wanted: EditParams): Promise<void> {
    try {
      const proposal = await working(`${wanted.change === 'fix' ? 'fixing' : 'documenting'} ${relativePath(wanted.textDocument.uri)}`, async (listener, token) => {
        const client = await this.session.ready(token);
        const { title, edit, rejected } = await sendEdit(client, wanted, listener, token);
        const made = await client.protocol2CodeConverter.asWorkspaceEdit(edit, token);
        return this.proposal(wanted, title, rejected, made);
      });
      if (proposal !== undefined) await this.show(proposal);
    } catch (error) {
      await this.failed(wanted, reason(error));
    }
  }

  dispose(): void {
    this.subscriptions.dispose();
  }

  private async proposal(wanted: EditParams, title: string, rejected: string | undefined, edit: vscode.WorkspaceEdit): Promise<Proposal> {
    const [found] = edit.entries();
    if (found === undefined) throw new Error('the server proposed an empty change; ask again');
    const [file, edits] = found;
    const document = await vscode.workspace.openTextDocument(file);
    const before = document.getText();
    const after = edited(before, edits.map(({ range, newText }) => ({ start: document.offsetAt(range.start), end: document.offsetAt(range.end), text: newText })));
    const uri = file.with({ scheme: rejected === undefined ? CHANGE : REJECTED, query: `${++this.count}` });
    return { wanted, title, rejected, file, uri, before, after, edits };
  }

  private async show(proposal: Proposal): Promise<void> {
    const { uri, file, title, rejected, edits } = proposal;
    this.open.set(uri.toString(), proposal);
    const selection = edits[0] && new vscode.Range(edits[0].range.start, edits[0].range.start);
    await vscode.commands.executeCommand('vscode.diff', file, uri, tabTitle(title, file.path, rejected !== undefined), { preview: false, selection });
    if (rejected === undefined) return;
    if ((await vscode.window.showWarningMessage(`Winnow does not offer to make this change: ${rejected}.`, 'Again')) === 'Again') await this.again(proposal);
  }

  private async failed(wanted: EditParams, why: string): Promise<void> {
    if ((await vscode.window.showErrorMessage(`Winnow: ${why}`, 'Again')) === 'Again') await this.propose(next(wanted));
  }

  private async accept(proposal: Proposal): Promise<void> {
    const { file, before, edits, rejected } = proposal;
    if (rejected !== undefined) return;
    const document = await vscode.workspace.openTextDocument(file);
    if (document.getText() !== before) return this.outdated(proposal);
    const edit = new vscode.WorkspaceEdit();
    edit.set(file, edits);
    if (!(await vscode.workspace.applyEdit(edit))) throw new Error(`VS Code did not change ${relativePath(file.toString())}; the proposal is still open.`);
    await this.close(proposal);
    const at = edits[0]?.range.start ?? new vscode.Position(0, 0);
    await vscode.window.showTextDocument(document, { selection: new vscode.Range(at, at) });
  }

  private async outdated(proposal: Proposal): Promise<void> {
    const said = `Winnow: ${relativePath(proposal.file.toString())} has changed since this was proposed; nothing was changed.`;
    if ((await vscode.window.showWarningMessage(said, 'Again')) === 'Again') await this.again(proposal);
  }

  /** Another proposal takes the place of this one, which stays if there is none. */
  private async again(proposal: Proposal): Promise<void> {
    const before = this.count;
    await this.propose(next(proposal.wanted));
    if (this.count > before) await this.close(proposal);
  }

  private async close(proposal: Proposal): Promise<void> {
    this.open.delete(proposal.uri.toString());
    await closeTabs((uri) => uri.toString() === proposal.uri.toString());
  }

  /** A tab closed without a decision loses nothing. */
  private async closed(tab: vscode.Tab): Promise<void> {
    const proposal = this.open.get(proposedIn(tab)?.toString() ?? '');
    if (proposal === undefined || isShown(proposal.uri)) return; // the tab has moved
    if ((await vscode.window.showInformationMessage(`Winnow: “${tab.label}” was not made.`, 'Show It Again')) === 'Show It Again') await this.show(proposal);
    else this.open.delete(proposal.uri.toString());
  }

  /** The proposal with this text, or else the one that the active tab shows. */
  private find(uri: vscode.Uri | undefined): Proposal | undefined {
    const active = proposedIn(vscode.window.tabGroups.activeTabGroup.activeTab);
    return this.open.get(uri?.toString() ?? '') ?? this.open.get(active?.toString() ?? '');
  }
}

/** The same change once more; the text may have changed since it was offered. */
function next({ digest: _, ...wanted }: EditParams): EditParams {
  return { ...wanted, attempt: (wanted.attempt ?? 0) + 1 };
}

/** The address of the proposed text in a tab. */
function proposedIn(tab: vscode.Tab | undefined): vscode.Uri | undefined {
  const uri = tab?.input instanceof vscode.TabInputTextDiff ? tab.input.modified : undefined;
  return uri?.scheme === CHANGE || uri?.scheme === REJECTED ? uri : undefined;
}

async function closeTabs(which: (uri: vscode.Uri) => boolean): Promise<void> {
  await vscode.window.tabGroups.close(tabs().filter((tab) => {
    const uri = proposedIn(tab);
    return uri !== undefined && which(uri);
  }));
}

function isShown(uri: vscode.Uri): boolean {
  return tabs().some((tab) => proposedIn(tab)?.toString() === uri.toString());
}

function tabs(): vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs);
}
