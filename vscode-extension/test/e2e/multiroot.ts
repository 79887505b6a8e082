/** Several folders in one window, with one server. */
import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { currentPlace, relativePath } from '../../src/asking/places';
import { api, asking, environment, eventually, open, serverReady, suite as inMocha, winnow } from './host';

export const run = (): Promise<void> => inMocha(define);

function define(): void {
  suite('several folders', () => {
    test('one server reads all of them', async () => {
      await api();
      await serverReady();
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
  });
}
