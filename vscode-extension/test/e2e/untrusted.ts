/** A workspace nobody trusts yet. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { api, asking, environment, messages, serverReady, suite as inMocha, winnow } from './host';

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
}
