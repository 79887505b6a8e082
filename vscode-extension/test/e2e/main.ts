/** One folder, the real server, real weights; the parts share a window, and go on where the one before stopped. */
import assert from 'node:assert/strict';
import { api, serverReady, suite as inMocha, winnow } from './host';
import { define as asking } from './main/asking';
import { define as chat } from './main/chat';
import { define as editor } from './main/editor';
import { define as server } from './main/server';
import { define as tools } from './main/tools';

export const run = (): Promise<void> => inMocha(define);

function define(): void {
  suite('starting', () => {
    let took = { ms: 0, processorMs: 0, state: '' };

    suiteSetup(async () => {
      const started = Date.now();
      const before = process.cpuUsage();
      await api();
      const { user, system } = process.cpuUsage(before);
      took = { ms: Date.now() - started, processorMs: (user + system) / 1000, state: winnow.session.state.kind };
    });

    // Processor time, because the machine may be busy with other things; waiting for the server would show in its state.
    test('activates in less than a second, before the server is there', () => {
      console.log(`activation took ${took.processorMs} ms of processor time and ${took.ms} ms in all`);
      assert.notEqual(took.state, 'running');
      assert.ok(took.processorMs < 1000, `${took.processorMs} ms`);
    });

    test('finds the server, and it gets ready', async () => {
      await serverReady();
      const { state } = winnow.session;
      assert.equal(state.kind, 'running');
      assert.equal(state.source, 'winnow.server.path');
      assert.equal(winnow.session.status?.models.target.name, 'smollm2-135m');
    });
  });
  for (const part of [asking, editor, chat, tools, server]) part();
}
