/** Changes of the code: previewed by VS Code itself, made, undone at once; the target is one that knows the answers. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as vscode from 'vscode';
import { atCommit, openLocation, relativePath } from '../../src/asking/places';
import { api, eventually, folder, messages, open, select, serverReady, suite as inMocha, winnow } from './host';

export const run = (): Promise<void> => inMocha(define);

const PROBLEM = 'the discount is wrong';
const FIXED = 'price * 8 // 10';

/** A change under way. */
interface Running {
  ended: boolean;
  applied?: boolean | undefined;
  error?: string;
}

/** Pick a code action from the light bulb. */
async function pick(editor: vscode.TextEditor, title: string): Promise<Running> {
  const { document, selection } = editor;
  const { command } = await eventually(async () => {
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', document.uri, selection, undefined, 20);
    return actions.find((one) => one.title === title && one.command !== undefined);
  });
  assert.ok(command);
  const running: Running = { ended: false };
  vscode.commands.executeCommand<{ applied: boolean } | undefined>(command.command, ...((command.arguments ?? []) as unknown[])).then(
    (result) => { Object.assign(running, { ended: true, applied: result?.applied }); },
    (error: unknown) => { Object.assign(running, { ended: true, error: String(error) }); },
  );
  return running;
}

/** Run commands of the workbench, one after the other. */
async function press(...commands: string[]): Promise<void> {
  for (const command of commands) await vscode.commands.executeCommand(command);
}

/** Resolves once the Refactor Preview has the change, whose difference it opens for who goes down to it. */
async function previewed(): Promise<void> {
  const labels = (): string[] => vscode.window.tabGroups.all.flatMap((group) => group.tabs.map(({ label }) => label));
  await eventually(async () => {
    try {
      await press('refactorPreview.focus', 'list.focusFirst', 'list.focusDown', 'list.select');
    } catch {
      return false; // its list is empty yet
    }
    return labels().some((label) => /refactor/i.test(label));
  }, labels);
}

/** Tick the change in the Refactor Preview, which nothing is before the user wants it, and apply what is ticked. */
async function apply(change: Running): Promise<void> {
  await previewed();
  await press('refactorPreview.focus', 'list.focusFirst', 'refactorPreview.toggleCheckedState', 'refactorPreview.apply');
  await eventually(() => change.ended);
}

function define(): void {
  suite('changes of the code', () => {
    const found = vscode.languages.createDiagnosticCollection('linter');
    let editor: vscode.TextEditor;
    let before: string;

    suiteSetup(async () => {
      await api();
      await serverReady();
    });

    setup(async () => {
      await press('workbench.action.closeAllEditors');
      editor = await open('shop/pricing.py');
      before = editor.document.getText();
      await select(editor, '    return price * 9');
      found.set(editor.document.uri, [new vscode.Diagnostic(editor.selection, PROBLEM)]);
    });

    test('a fix is previewed, made, and undone in one step', async () => {
      const running = await pick(editor, `Fix this problem: ${PROBLEM}`);
      await apply(running);
      assert.equal(running.applied, true, running.error);
      assert.ok(editor.document.getText().includes(FIXED), editor.document.getText());
      await vscode.window.showTextDocument(editor.document);
      await vscode.commands.executeCommand('undo');
      assert.equal(editor.document.getText(), before);
    });

    test('what the user discards is not made', async () => {
      const running = await pick(editor, `Fix this problem: ${PROBLEM}`);
      await previewed();
      await press('refactorPreview.discard');
      await eventually(() => running.ended);
      assert.equal(running.applied, false, running.error);
      assert.equal(editor.document.getText(), before);
    });

    test('text that changes behind the preview is left alone', async () => {
      const running = await pick(editor, `Fix this problem: ${PROBLEM}`);
      await previewed();
      const typed = new vscode.WorkspaceEdit();
      typed.insert(editor.document.uri, new vscode.Position(0, 0), '# typed meanwhile\n');
      assert.ok(await vscode.workspace.applyEdit(typed));
      await apply(running);
      assert.notEqual(running.applied, true);
      assert.equal(editor.document.getText(), `# typed meanwhile\n${before}`);
      await vscode.window.showTextDocument(editor.document);
      await vscode.commands.executeCommand('workbench.action.files.revert');
    });

    test('why nothing is changed is told', async () => {
      const said = messages();
      await select(editor, 'HEAVY_FEE_CENTS');
      const running = await pick(editor, 'Document this');
      await eventually(() => running.ended);
      const told = [running.error ?? '', ...said.texts];
      said.restore();
      assert.ok(told.some((text) => text.includes('put the cursor on')), JSON.stringify(told));
    });

    test('lines that only a commit has open as they were', async () => {
      const commit = committed(folder().fsPath); // it stays: the Git extension fails where a repository goes away
      await vscode.workspace.getConfiguration('git').update('enabled', true, vscode.ConfigurationTarget.Global);
      const cited = atCommit({ location: { uri: editor.document.uri.toString(), range: new vscode.Range(2, 0, 3, 0) }, commit });
      assert.equal(relativePath(cited.uri), `shop/pricing.py at ${commit.slice(0, 9)}`);
      const shown = await eventually(async () => {
        await openLocation(cited); // the Git extension does not find the repository at once
        const now = vscode.window.activeTextEditor;
        return now?.document.uri.scheme === 'git' && now.document.getText() !== '' ? now : undefined;
      });
      assert.equal(shown.document.getText(), before);
      assert.equal(shown.selection.active.line, 2);
    });

    test('why a command of the server failed is left to who asked, who has the reason', async () => {
      const said = messages();
      await assert.rejects(async () => vscode.commands.executeCommand('winnow.review', { changes: 'nobody' }), /nobody/);
      said.restore();
      assert.deepEqual(said.texts, []);
    });

    test('a command that is stopped is no error', async () => {
      const said = messages();
      const { client } = winnow.session;
      assert.ok(client);
      const send = client.sendRequest.bind(client);
      client.sendRequest = () => Promise.reject(Object.assign(new Error('stopped'), { code: -32800 }));
      await vscode.commands.executeCommand('winnow.reviewChanges');
      assert.equal(await vscode.commands.executeCommand('winnow.edit', {}), undefined);
      client.sendRequest = send;
      said.restore();
      assert.deepEqual(said.texts, []);
    });

    test('a review whose server dies says so', async () => {
      const said = messages();
      const reviewing = vscode.commands.executeCommand('winnow.reviewChanges');
      process.kill(winnow.session.pid ?? 0, 'SIGKILL');
      await reviewing;
      said.restore();
      assert.ok(said.texts.some((text) => text.startsWith("Winnow: the server stopped")), JSON.stringify(said.texts));
      await serverReady();
    });
  });
}

/** Makes a folder a repository, and gives the name of its only commit. */
function committed(root: string): string {
  const git = (...words: string[]): string => execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...words], { cwd: root }).toString();
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '-m', 'Open the shop');
  return git('rev-parse', 'HEAD').trim();
}
