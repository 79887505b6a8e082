/** Servers that die, hang, or are not there. */
import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { asking, configure, environment, eventually, LONG_QUESTION, messages, QUESTION, serverReady, set, winnow } from '../host';

/** What a server can offer whose client side is in the bundle: see leaner.mjs. */
const BUNDLED = ['codeActionProvider', 'codeLensProvider', 'executeCommandProvider', 'positionEncoding', 'textDocumentSync', 'workspace'];

export function define(): void {
  suite('the server', () => {
    test('a server that is killed comes back with a message, and a follow-up knows what was said', async () => {
      const said = messages();
      const before = winnow.service.history();
      const first = await asking({ text: QUESTION }).done;
      const { pid } = winnow.session;
      assert.ok(pid);
      process.kill(pid, 'SIGKILL');
      await eventually(() => said.texts.find((text) => text.includes('stopped unexpectedly')), () => said.texts);
      said.restore();
      await serverReady();
      assert.notEqual(winnow.session.pid, pid);
      assert.deepEqual(winnow.service.history(), [...before, first].slice(-100));
      const second = await asking({ text: QUESTION, conversation: first.conversation }).done;
      assert.ok((second.stats?.promptTokens ?? 0) > (first.stats?.promptTokens ?? 0), JSON.stringify([first.stats, second.stats]));
    });

    test('a question under way when the server dies fails with words, and does not hang', async () => {
      const said = messages();
      await configure({ budget: 1500 });
      let killed = false;
      const message = (text: string): void => {
        if (killed || !text.startsWith('reading')) return;
        killed = true;
        process.kill(winnow.session.pid ?? 0, 'SIGKILL');
      };
      const exchange = await asking({ text: LONG_QUESTION }, { message }).done;
      await set('budget', 200);
      said.restore();
      assert.equal(exchange.outcome, 'failed');
      assert.match(exchange.error ?? '', /server stopped/);
      await serverReady();
    });

    test('a question asked while the server restarts waits for it', async () => {
      const restarted = winnow.session.restartByHand();
      const exchange = await asking({ text: QUESTION }).done;
      await restarted;
      assert.equal(exchange.outcome, 'answered', JSON.stringify(exchange.error));
      await serverReady();
    });

    test('a server that hangs in initialize does not block a restart', async () => {
      const path = vscode.workspace.getConfiguration('winnow').get('server.path');
      await set('server.path', environment('WINNOW_E2E_HANGING'));
      await eventually(() => winnow.session.state.kind === 'starting' && winnow.session.state.command === environment('WINNOW_E2E_HANGING'), () => [winnow.session.state, winnow.session.status, vscode.workspace.getConfiguration('winnow').inspect('server.path')]);
      const hanging = winnow.session.pid;
      await set('server.path', path);
      await serverReady();
      assert.throws(() => process.kill(hanging ?? 0, 0), { code: 'ESRCH' });
    });

    test('a program that is no server is given up, and one message says why', async () => {
      const said = messages();
      const path = vscode.workspace.getConfiguration('winnow').get('server.path');
      await set('server.path', environment('WINNOW_E2E_MUTE'));
      await eventually(() => said.texts.find((text) => text.includes('is not the winnow program')), () => [said.texts, winnow.session.state]);
      assert.equal(said.texts.length, 1, said.texts.join());
      await set('server.path', path);
      said.restore();
      await serverReady();
    });

    test('the bundle has all of the client that the server has a part in', () => {
      const { run } = winnow.session as unknown as { run: { client: { initializeResult?: { capabilities: object } } } };
      const offered = Object.keys(run.client.initializeResult?.capabilities ?? {});
      assert.ok(offered.length > 0);
      assert.deepEqual(offered.filter((name) => !BUNDLED.includes(name)), []);
    });

    test('a path that names no program is an error with that path, and asking says so', async () => {
      const said = messages();
      const path = vscode.workspace.getConfiguration('winnow').get('server.path');
      await set('server.path', '/nowhere/winnow');
      await eventually(() => winnow.session.state.kind === 'failed', () => winnow.session.state);
      const exchange = await asking({ text: QUESTION }).done;
      assert.equal(exchange.outcome, 'failed');
      assert.match(exchange.error ?? '', /\/nowhere\/winnow/);
      await set('server.path', path);
      said.restore();
      await serverReady();
    });
  });
}
