/** Several folders in one window with one server, of a workspace that nobody trusts at first. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { currentPlace, relativePath } from '../../src/asking/places';
import type { Repository } from '../../src/commands/reviewed';
import { api, asking, environment, eventually, folder, messages, open, serverReady, suite as inMocha, winnow } from './host';

export const run = (): Promise<void> => inMocha(define);

function define(): void {
  suite('a workspace that is not trusted', () => {
    test('no server is started', async () => {
      assert.equal(vscode.workspace.isTrusted, false);
      await api();
      await winnow.session.restart();
      assert.equal(winnow.session.state.kind, 'untrusted');
      assert.equal(existsSync(environment('WINNOW_E2E_STARTED')), false, 'the program ran');
    });

    test('asking says what is missing', async () => {
      const exchange = await asking({ text: 'Why?' }).done;
      assert.equal(exchange.outcome, 'failed');
      assert.match(exchange.error ?? '', /trust this workspace/);
    });

    test('models are not downloaded either, because the program would do that', async () => {
      const said = messages();
      await vscode.commands.executeCommand('winnow.pullModels');
      said.restore();
      assert.equal(existsSync(environment('WINNOW_E2E_STARTED')), false, 'the program ran');
      assert.match(said.texts.join(), /trust this workspace/);
    });

    test('a tool says so too, and there is no server for agents', async () => {
      const asked = vscode.lm.invokeTool('winnow_find_code', { input: { question: 'Why?' }, toolInvocationToken: undefined });
      await assert.rejects(async () => asked, /trust this workspace/);
      assert.deepEqual(await winnow.definitions.provideMcpServerDefinitions(), []);
    });

    test('trust starts the server once, and nothing pops up', async () => {
      const said = messages();
      await vscode.commands.executeCommand('workbench.trust.manage');
      await serverReady();
      said.restore();
      assert.deepEqual(said.texts, []);
      assert.equal(readFileSync(environment('WINNOW_E2E_STARTED'), 'utf8'), 'serve\n');
    });
  });

  suite('several folders', () => {
    test('one server reads all of them', async () => {
      const found = await asking({ text: 'What does `greeting_for` do with somebody polite?' }).done;
      assert.equal(found.outcome, 'answered', found.error);
      const folders = new Set(found.spans.map((span) => vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(span.location.uri))?.name));
      assert.ok(folders.has('greetings'), JSON.stringify([...folders]));
      assert.match(relativePath(found.spans[0]?.location.uri ?? ''), /^(shop|greetings)\//);
    });

    test('a place is known in each folder', async () => {
      const editor = await open('greeting.py', 1);
      editor.selection = new vscode.Selection(0, 0, 2, 0);
      assert.equal(currentPlace()?.label, 'greetings/greeting.py:1-2');
    });

    test('a folder that joins later counts', async () => {
      const { pid } = winnow.session;
      const before = winnow.session.status?.index.total ?? 0;
      vscode.workspace.updateWorkspaceFolders(2, 0, { uri: vscode.Uri.file(environment('WINNOW_E2E_THIRD')) });
      await eventually(() => (winnow.session.status?.index.total ?? 0) > before, () => winnow.session.status);
      assert.equal(winnow.session.pid, pid);
    });

    test('a commit message is for the repository whose menu was used, else for the one picked', async () => {
      const repositories = await staged([1, 2]);
      const { client } = winnow.session;
      assert.ok(client);
      const send = client.sendRequest.bind(client);
      const answer = (_: unknown, { arguments: [asked] }: { arguments: { repository: string }[] }) => Promise.resolve({ message: `Change ${asked?.repository ?? ''}` });
      client.sendRequest = answer as typeof client.sendRequest;
      const window = vscode.window as { showQuickPick: unknown };
      const { showQuickPick } = window;
      window.showQuickPick = (items: unknown[]) => Promise.resolve(items.at(-1));
      const [used, picked] = repositories;
      await vscode.commands.executeCommand('winnow.proposeMessage', { rootUri: used?.rootUri });
      await vscode.commands.executeCommand('winnow.proposeMessage');
      Object.assign(client, { sendRequest: send });
      Object.assign(window, { showQuickPick });
      for (const one of [used, picked]) assert.equal(one?.inputBox.value, `Change ${String(one?.rootUri)}`);
    });
  });
}

/** The repositories that these folders become, with everything staged, as the Git extension has them. */
async function staged(folders: number[]): Promise<Repository[]> {
  for (const cwd of folders.map((index) => folder(index).fsPath)) {
    execFileSync('git', ['init', '--quiet'], { cwd });
    execFileSync('git', ['add', '--all'], { cwd });
  }
  await vscode.workspace.getConfiguration('git').update('enabled', true, vscode.ConfigurationTarget.Global);
  const git = await vscode.extensions.getExtension<{ enabled: boolean; getAPI(version: 1): { repositories: Repository[] } }>('vscode.git')?.activate();
  return eventually(() => {
    const found = git?.enabled ? git.getAPI(1).repositories.filter(({ state }) => state.indexChanges.length > 0) : [];
    return found.length === folders.length && found;
  });
}
