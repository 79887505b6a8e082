/** One folder, the real server, real weights. */
import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Api } from '../../src/extension';
import { api, asking, configure, environment, eventually, messages, open, select, serverReady, suite as inMocha } from './host';

export const run = (): Promise<void> => inMocha(define);

const QUESTION = 'What does the function `total` do?';

function define(): void {
  let winnow: Api;

  suite('winnow', () => {
    let took = { ms: 0, processorMs: 0, state: '' };

    suiteSetup(async () => {
      const started = Date.now();
      const before = process.cpuUsage();
      winnow = await api();
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
      await serverReady(winnow);
      const { state } = winnow.session;
      assert.equal(state.kind, 'running');
      assert.equal(state.source, 'winnow.server.path');
      assert.equal(winnow.session.status?.models.target.name, 'smollm2-135m');
    });

    test('an answer streams, and the pieces are the answer', async () => {
      select(await open('shop/pricing.py'), 'def total', 4);
      const place = winnow.service.place();
      assert.equal(place?.label, 'shop/pricing.py:20-23');
      const question = asking(winnow, { text: QUESTION, place });
      const exchange = await question.done;
      assert.equal(exchange.outcome, 'answered', exchange.error);
      assert.ok(question.pieces.length > 1, `${question.pieces.length} pieces`);
      assert.equal(question.pieces.join(''), exchange.answer);
      assert.ok(question.messages.length > 0);
      assert.equal(winnow.service.history().at(-1)?.id, exchange.id);
    });

    test('a citation opens the right line', async () => {
      const exchange = winnow.service.history().at(-1);
      const [citation] = exchange?.citations ?? [];
      assert.ok(citation, exchange?.answer);
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      await winnow.service.openLocation(citation);
      const opened = vscode.window.activeTextEditor;
      assert.equal(opened?.document.uri.toString(), citation.uri);
      assert.equal(opened.selection.active.line, citation.range.start.line);
    });

    test('cancelling while the prompt is read stops the work', async () => {
      await configure('budget.tokens', 1500);
      const question = asking(winnow, { text: 'How does TextWrapper split long words, and in what order?' });
      await eventually(() => question.messages.some((message) => message.startsWith('reading')), () => question.messages);
      question.cancel();
      const exchange = await question.done;
      assert.deepEqual([exchange.outcome, exchange.answer, question.pieces], ['cancelled', '', []]);
      await eventually(() => winnow.session.status?.questions.running === 0);
      await configure('budget.tokens', 200);
    });

    test('cancelling in the middle of an answer keeps what came', async () => {
      await configure('answer.maxTokens', 500);
      const question = asking(winnow, { text: QUESTION });
      await eventually(() => question.pieces.length > 0, () => question.messages, 90_000);
      question.cancel();
      const exchange = await question.done;
      assert.equal(exchange.outcome, 'cancelled');
      assert.equal(exchange.answer, question.pieces.join(''));
      assert.ok(exchange.answer.length > 0);
      await configure('answer.maxTokens', 24);
      await eventually(() => winnow.session.status?.questions.running === 0);
    });

    test('a code action explains a diagnostic in the view', async () => {
      const editor = await open('shop/checkout.py');
      select(editor, '    cost = total(order)');
      const found = vscode.languages.createDiagnosticCollection('linter');
      const range = new vscode.Range(editor.selection.start.line, 4, editor.selection.start.line, 8);
      found.set(editor.document.uri, [new vscode.Diagnostic(range, 'cost may be negative')]);
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', editor.document.uri, range, undefined, 10);
      const action = actions.find((one) => one.title === 'Explain this problem: cost may be negative');
      assert.ok(action?.command, JSON.stringify(actions.map((one) => one.title)));
      const before = winnow.service.history().length;
      await vscode.commands.executeCommand(action.command.command, ...((action.command.arguments ?? []) as unknown[]));
      const exchange = await eventually(() => winnow.service.history().at(before));
      assert.equal(exchange.outcome, 'answered', exchange.error);
      assert.match(exchange.question, /cost may be negative/);
      assert.ok(exchange.spans.some((span) => span.location.uri === editor.document.uri.toString()));
      found.dispose();
    });

    test('the problem at the cursor is explained by command', async () => {
      const editor = await open('shop/checkout.py');
      select(editor, '    cost = total(order)');
      const found = vscode.languages.createDiagnosticCollection('linter');
      found.set(editor.document.uri, [new vscode.Diagnostic(editor.selection, 'the name is too short')]);
      const before = winnow.service.history().length;
      await vscode.commands.executeCommand('winnow.explainDiagnostic');
      assert.match((await eventually(() => winnow.service.history().at(before))).question, /the name is too short/);
      found.dispose();
    });

    test('the spans view and the decorations show what was kept', async () => {
      const last = winnow.service.history().at(-1);
      assert.ok(last);
      await eventually(() => winnow.spans.shown.current?.question === last.question);
      const [first] = winnow.spans.shown.heats;
      assert.ok(first && first.share > 0 && first.share <= 1, JSON.stringify(first));
      const drawn = (): number => (['hot', 'warm', 'cool'] as const).flatMap((heat) => winnow.spans.decorations.ranges(first.uri, heat)).length;
      assert.equal(drawn(), 0);
      await vscode.commands.executeCommand('winnow.showKeptSpans');
      assert.equal(drawn(), first.spans.length);
      assert.equal(winnow.spans.decorations.provideFileDecoration(vscode.Uri.parse(first.uri))?.badge, badge(first.share));
      await vscode.commands.executeCommand('winnow.hideKeptSpans');
      assert.equal(drawn(), 0);
    });

    test('a setting takes effect without a restart', async () => {
      const { pid } = winnow.session;
      const editor = await open('shop/pricing.py');
      const lenses = async (): Promise<vscode.CodeLens[]> => vscode.commands.executeCommand('vscode.executeCodeLensProvider', editor.document.uri);
      assert.equal((await lenses()).length, 0);
      await configure('codeLens.enabled', true);
      await configure('answer.maxTokens', 5);
      let count = 0;
      await eventually(() => { void lenses().then((found) => { count = found.length; }); return count > 0; });
      const exchange = await asking(winnow, { text: QUESTION }).done;
      assert.equal(exchange.stats?.decodeTokens, 5);
      assert.equal(winnow.session.pid, pid);
      await configure('codeLens.enabled', undefined);
      await configure('answer.maxTokens', 24);
    });

    test('a wrong setting is reported, and nobody hears of ours', async () => {
      const said = messages();
      await configure('budget.ratio', 7);
      await eventually(() => said.texts.find((text) => text.includes('winnow.budget.ratio')), () => said.texts);
      await configure('budget.ratio', undefined);
      said.restore();
      assert.ok(!said.texts.some((text) => text.includes('winnow.server')), JSON.stringify(said.texts));
    });

    test('a server that is killed comes back with a message, and a follow-up knows what was said', async () => {
      const said = messages();
      const before = winnow.service.history();
      const first = await asking(winnow, { text: QUESTION }).done;
      const { pid } = winnow.session;
      assert.ok(pid);
      process.kill(pid, 'SIGKILL');
      await eventually(() => said.texts.find((text) => text.includes('stopped unexpectedly')), () => said.texts);
      said.restore();
      await serverReady(winnow);
      assert.notEqual(winnow.session.pid, pid);
      assert.deepEqual(winnow.service.history(), [...before, first].slice(-100));
      const second = await asking(winnow, { text: QUESTION, conversation: first.conversation }).done;
      assert.ok((second.stats?.promptTokens ?? 0) > (first.stats?.promptTokens ?? 0), JSON.stringify([first.stats, second.stats]));
    });

    test('a question under way when the server dies fails with words, and does not hang', async () => {
      const said = messages();
      const question = asking(winnow, { text: 'How does TextWrapper split long words, and in what order?' });
      await eventually(() => question.messages.some((message) => message.startsWith('reading')), () => question.messages);
      process.kill(winnow.session.pid ?? 0, 'SIGKILL');
      const exchange = await question.done;
      said.restore();
      assert.equal(exchange.outcome, 'failed');
      assert.ok(exchange.error);
      await serverReady(winnow);
    });

    test('the chat participant answers without sign-in', async () => {
      const before = winnow.service.history().length;
      await vscode.commands.executeCommand('workbench.action.chat.open');
      assert.equal((await vscode.lm.selectChatModels({ vendor: 'winnow' })).length, 1);
      await new Promise((resolve) => setTimeout(resolve, 3000)); // the open panel takes the model up, and tells nobody
      await vscode.commands.executeCommand('workbench.action.chat.open', { query: `@winnow ${QUESTION}`, isPartialQuery: false });
      const exchange = await eventually(() => winnow.service.history().at(before), () => winnow.session.status, 90_000);
      assert.deepEqual([exchange.question, exchange.outcome], [QUESTION, 'answered']);
    });

    test('the language model answers other extensions', async () => {
      const [model] = await vscode.lm.selectChatModels({ vendor: 'winnow' });
      assert.ok(model);
      const response = await model.sendRequest([vscode.LanguageModelChatMessage.User(QUESTION)]);
      let text = '';
      for await (const piece of response.text) text += piece;
      assert.ok(text.length > 0);
    });

    test('a server that hangs in initialize does not block a restart', async () => {
      const path = vscode.workspace.getConfiguration('winnow').get('server.path');
      await configure('server.path', environment('WINNOW_E2E_HANGING'));
      await eventually(() => winnow.session.state.kind === 'starting' && winnow.session.state.command === environment('WINNOW_E2E_HANGING'), () => [winnow.session.state, winnow.session.status, vscode.workspace.getConfiguration('winnow').inspect('server.path')]);
      const hanging = winnow.session.pid;
      await configure('server.path', path);
      await serverReady(winnow);
      assert.throws(() => process.kill(hanging ?? 0, 0), { code: 'ESRCH' });
    });

    test('a server that closes its output is given up, and the message says why', async () => {
      const said = messages();
      const path = vscode.workspace.getConfiguration('winnow').get('server.path');
      await configure('server.path', environment('WINNOW_E2E_MUTE'));
      await eventually(() => said.texts.find((text) => text.includes('it did not start')), () => [said.texts, winnow.session.state]);
      await configure('server.path', path);
      said.restore();
      await serverReady(winnow);
    });

    test('a path that names no program is an error with that path, and asking says so', async () => {
      const said = messages();
      const path = vscode.workspace.getConfiguration('winnow').get('server.path');
      await configure('server.path', '/nowhere/winnow');
      await eventually(() => winnow.session.state.kind === 'failed', () => winnow.session.state);
      const exchange = await asking(winnow, { text: QUESTION }).done;
      assert.equal(exchange.outcome, 'failed');
      assert.match(exchange.error ?? '', /\/nowhere\/winnow/);
      await configure('server.path', path);
      said.restore();
      await serverReady(winnow);
    });

    test('models that are not here are offered', async () => {
      const said = messages();
      const before = vscode.workspace.getConfiguration('winnow').get('target');
      await configure('target', 'qwen2.5-coder-1.5b');
      await eventually(() => said.texts.find((text) => text.includes('qwen2.5-coder-1.5b')), () => [said.texts, winnow.session.status]);
      await configure('target', before);
      said.restore();
      await serverReady(winnow);
    });

    test('every command of the palette is there', async () => {
      const all = new Set(await vscode.commands.getCommands(true));
      const contributed = vscode.extensions.getExtension('winnow-lsp.winnow')?.packageJSON as { contributes: { commands: { command: string }[] } };
      assert.deepEqual(contributed.contributes.commands.filter(({ command }) => !all.has(command)), []);
    });
  });
}

function badge(share: number): string {
  return share >= 0.995 ? '●' : `${Math.max(1, Math.round(share * 100))}`;
}
