/** Changes of the code: shown as diffs, accepted, discarded, undone at once; the target is one that knows the answers. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as vscode from 'vscode';
import { atCommit, openLocation, relativePath } from '../../src/asking/places';
import { api, eventually, folder, messages, open, select, serverReady, suite as inMocha, winnow } from './host';

export const run = (): Promise<void> => inMocha(define);

const PROBLEM = 'the discount is wrong';
const UNSOUND = 'the answer is half a line';
const FIX = `Winnow: Fix this problem: ${PROBLEM}`;
const TITLE = 'Fix unit_price (pricing.py)';
const [BROKEN, FIXED] = ['price * 9 // 10', 'price * 8 // 10'];

/** Pick a code action from the light bulb. */
async function pick(editor: vscode.TextEditor, title: string): Promise<void> {
  const { document, selection } = editor;
  const { command } = await eventually(async () => {
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', document.uri, selection, undefined, 20);
    return actions.find((one) => one.title === title && one.command !== undefined);
  });
  assert.ok(command);
  void vscode.commands.executeCommand(command.command, ...((command.arguments ?? []) as unknown[]));
}

/** The proposed text, once a diff with this title shows it; a busy VS Code may put another tab before it. */
async function proposed(title: string): Promise<string> {
  const tab = await eventually(async () => {
    const found = tabs().find(({ label }) => label === title);
    if (found !== undefined && !found.isActive) await vscode.commands.executeCommand('workbench.action.nextEditor');
    return found?.isActive ? found : undefined;
  }, () => tabs().map(({ label }) => label));
  assert.ok(tab.input instanceof vscode.TabInputTextDiff);
  return (await vscode.workspace.openTextDocument(tab.input.modified)).getText();
}

function tabs(): vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs);
}

/** Resolves once no proposal is shown. */
async function decided(): Promise<void> {
  await eventually(() => !tabs().some(({ input }) => input instanceof vscode.TabInputTextDiff), () => tabs().map(({ label }) => label));
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
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      editor = await open('shop/pricing.py');
      before = editor.document.getText();
      await select(editor, '    return price * 9');
      found.set(editor.document.uri, [new vscode.Diagnostic(editor.selection, PROBLEM)]);
    });

    test('a fix is shown as a diff, accepted, and undone in one step', async () => {
      await pick(editor, FIX);
      assert.equal(await proposed(TITLE), before.replace(BROKEN, FIXED));
      assert.equal(editor.document.getText(), before);
      await vscode.commands.executeCommand('winnow.acceptChange');
      await decided();
      assert.equal(editor.document.getText(), before.replace(BROKEN, FIXED));
      await vscode.window.showTextDocument(editor.document);
      await vscode.commands.executeCommand('undo');
      assert.equal(editor.document.getText(), before);
    });

    test('what the user discards is not made, and another proposal takes its place', async () => {
      await pick(editor, FIX);
      await proposed(TITLE);
      const [first] = tabs().filter(({ label }) => label === TITLE);
      await vscode.commands.executeCommand('winnow.proposeAgain');
      const shown = tabs().filter(({ label }) => label === TITLE);
      assert.equal(shown.length, 1);
      assert.notEqual(String((shown[0]?.input as vscode.TabInputTextDiff).modified), String((first?.input as vscode.TabInputTextDiff).modified));
      await vscode.commands.executeCommand('winnow.discardChange');
      await decided();
      assert.equal(editor.document.getText(), before);
    });

    test('a tab closed without a decision loses nothing', async () => {
      const said = messages({ 'was not made': 'Show It Again' });
      await pick(editor, FIX);
      await proposed(TITLE);
      await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
      await eventually(() => said.texts.length > 0);
      said.restore();
      assert.equal(await proposed(TITLE), before.replace(BROKEN, FIXED));
      await vscode.commands.executeCommand('winnow.discardChange');
      await decided();
    });

    test('text that changes behind the proposal is left alone', async () => {
      const said = messages();
      await pick(editor, FIX);
      await proposed(TITLE);
      const typed = new vscode.WorkspaceEdit();
      typed.insert(editor.document.uri, new vscode.Position(0, 0), '# typed meanwhile\n');
      assert.ok(await vscode.workspace.applyEdit(typed));
      await vscode.commands.executeCommand('winnow.acceptChange');
      said.restore();
      assert.match(said.texts.join(), /has changed since this was proposed/);
      assert.equal(editor.document.getText(), `# typed meanwhile\n${before}`);
      await vscode.commands.executeCommand('winnow.discardChange');
      await decided();
      const back = new vscode.WorkspaceEdit(); // to revert the file is not enough: a busy VS Code has saved it by itself
      back.delete(editor.document.uri, new vscode.Range(0, 0, 1, 0));
      assert.ok(await vscode.workspace.applyEdit(back));
      assert.ok(await editor.document.save());
      assert.equal(editor.document.getText(), before);
    });

    test('a change that would not parse is shown as rejected, and cannot be accepted', async () => {
      const said = messages();
      found.set(editor.document.uri, [new vscode.Diagnostic(editor.selection, UNSOUND)]);
      await pick(editor, `Winnow: Fix this problem: ${UNSOUND}`);
      assert.match(await proposed(`Rejected: ${TITLE}`), /return \(\n/);
      await eventually(() => said.texts.some((text) => text.includes('would no longer parse')), () => said.texts);
      said.restore();
      await vscode.commands.executeCommand('winnow.acceptChange');
      assert.equal(editor.document.getText(), before);
      await vscode.commands.executeCommand('winnow.discardChange');
      await decided();
    });

    test('why nothing is changed is told', async () => {
      const said = messages();
      await select(editor, 'HEAVY_FEE_CENTS');
      await pick(editor, 'Winnow: Document this');
      await eventually(() => said.texts.some((text) => text.includes('put the cursor on')), () => said.texts);
      said.restore();
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

    test('/review lists what was found in the chat panel, and opens nothing', async () => {
      const before = tabs().length;
      await vscode.commands.executeCommand('workbench.action.chat.open', { query: '@winnow /review', modelSelector: { vendor: 'winnow' }, blockOnResponse: true });
      await vscode.commands.executeCommand('workbench.action.chat.copyAll');
      assert.match(await vscode.env.clipboard.readText(), /working tree|[Nn]othing changed|No findings/);
      assert.equal(tabs().length, before);
    });

    test('a review opens its page rendered', async () => {
      const said = messages();
      await vscode.commands.executeCommand('winnow.reviewChanges');
      said.restore();
      await eventually(() => tabs().some(({ label, input }) => label.includes('review') && input instanceof vscode.TabInputWebview), () => tabs().map(({ label }) => label));
      assert.match(said.texts.join(), /finding/);
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
