/** What the editor shows: code actions, kept spans, settings, messages. */
import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { asking, configure, eventually, lenses, messages, open, QUESTION, select, serverReady, set, SHORT, winnow } from '../host';

export function define(): void {
  suite('the editor', () => {
    test('a code action explains a diagnostic in the view', async () => {
      const editor = await open('shop/checkout.py');
      await select(editor, '    cost = total(order)');
      const found = vscode.languages.createDiagnosticCollection('linter');
      const range = new vscode.Range(editor.selection.start.line, 4, editor.selection.start.line, 8);
      found.set(editor.document.uri, [new vscode.Diagnostic(range, 'cost may be negative')]);
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', editor.document.uri, range, undefined, 10);
      const action = actions.find((one) => one.title === 'Winnow: Explain this problem: cost may be negative');
      assert.ok(action?.command, JSON.stringify(actions.map((one) => one.title)));
      const before = winnow.service.history().length;
      await vscode.commands.executeCommand(action.command.command, ...((action.command.arguments ?? []) as unknown[]));
      const exchange = await eventually(() => winnow.service.history().at(before));
      assert.equal(exchange.outcome, 'answered', exchange.error);
      assert.match(exchange.question, /cost may be negative/);
      assert.ok(exchange.spans.some((span) => span.location.uri === editor.document.uri.toString()));
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
      await vscode.commands.executeCommand('winnow.toggleKeptSpans');
      assert.equal(drawn(), first.spans.length);
      const marked = winnow.spans.decorations.provideFileDecoration(vscode.Uri.parse(first.uri));
      assert.deepEqual([marked?.badge, marked?.color], ['●', undefined]); // a number in colour reads as errors
      await vscode.commands.executeCommand('winnow.toggleKeptSpans');
      assert.equal(drawn(), 0);
      assert.equal(winnow.spans.decorations.provideFileDecoration(vscode.Uri.parse(first.uri)), undefined);
    });

    test('a search from the palette can be cancelled', async () => {
      const window = vscode.window as unknown as Record<string, unknown>;
      const { showInputBox, withProgress } = vscode.window;
      let shown: vscode.ProgressOptions | undefined;
      window.showInputBox = () => Promise.resolve(QUESTION);
      window.withProgress = (options: vscode.ProgressOptions, ...work: [never]) => withProgress(shown = options, ...work);
      await vscode.commands.executeCommand('winnow.findSpans');
      Object.assign(window, { showInputBox, withProgress });
      assert.deepEqual([shown?.cancellable, shown?.location], [true, vscode.ProgressLocation.Notification]); // no other has a button
      assert.equal(winnow.spans.shown.current?.question, QUESTION);
    });

    test('a setting takes effect without a restart', async () => {
      const { pid } = winnow.session;
      const { uri } = (await open('shop/pricing.py')).document;
      await set('codeLens.enabled', false);
      await eventually(async () => (await lenses(uri)).length === 0);
      await configure({ maxTokens: 5 }); // and turns the lenses on
      assert.ok((await lenses(uri)).length > 0);
      const exchange = await asking({ text: QUESTION }).done;
      assert.equal(exchange.stats?.decodeTokens, 5);
      assert.equal(winnow.session.pid, pid);
      await configure(SHORT);
    });

    test('a wrong setting is reported, and nobody hears of ours', async () => {
      const said = messages();
      await configure({ budget: '700%' });
      await eventually(() => said.texts.find((text) => text.includes('winnow.budget')), () => said.texts);
      await configure({ budget: undefined });
      said.restore();
      assert.ok(!said.texts.some((text) => text.includes('winnow.server')), JSON.stringify(said.texts));
    });

    test('models that are not here are offered', async () => {
      const said = messages();
      const before = vscode.workspace.getConfiguration('winnow').get('target');
      await set('target', 'qwen2.5-coder-1.5b');
      await eventually(() => said.texts.find((text) => text.includes('qwen2.5-coder-1.5b')), () => [said.texts, winnow.session.status]);
      await set('target', before);
      said.restore();
      await serverReady();
    });

    test('every command of the palette is there', async () => {
      const all = new Set(await vscode.commands.getCommands(true));
      const contributed = vscode.extensions.getExtension('winnow-lsp.winnow')?.packageJSON as { contributes: { commands: { command: string }[] } };
      assert.deepEqual(contributed.contributes.commands.filter(({ command }) => !all.has(command)), []);
    });
  });
}
