/** Winnow's tools for other extensions' language models, and its MCP server for agent mode. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import * as vscode from 'vscode';
import { configure, eventually, folder, idle, open, QUESTION, set, SHORT, winnow } from '../host';

const FEE = 'where is the fee for delivery decided?';
const FOUR_TOOLS = ['ask', 'explain_place', 'find_code', 'outline'];

export function define(): void {
  suite('tools for language models', () => {
    test('the tool finds code, with its path and lines', async () => {
      assert.ok(vscode.lm.tools.some(({ name }) => name === 'winnow_find_code'));
      const text = await call('winnow_find_code', { question: FEE });
      assert.match(text, /^shop\/pricing\.py:15-\d+\ndef delivery\(names: list\[str\]\) -> int:\n {4}"""The fee/m);
    });

    test('the tool stays within its budget, and does with what the caller has', async () => {
      const wide = await call('winnow_find_code', { question: FEE, budget: 2000 });
      const narrow = await call('winnow_find_code', { question: FEE, budget: 200 });
      assert.ok(0 < narrow.length && narrow.length < wide.length, `${narrow.length} of ${wide.length}`);
      const cut = await call('winnow_find_code', { question: FEE, budget: 2000 }, { tokenBudget: 400, countTokens: (text) => Promise.resolve(text.length) });
      assert.ok(0 < cut.length && cut.length <= 400, cut);
    });

    test('the tool says what to do where nothing fits, or nothing is asked', async () => {
      const countTokens = (text: string): Promise<number> => Promise.resolve(text.length);
      await assert.rejects(call('winnow_find_code', { question: FEE }, { tokenBudget: 5, countTokens }), /larger budget, or read \S+:\d+/);
      await assert.rejects(call('winnow_find_code', { question: ' ' }), /ask in a sentence/);
      await assert.rejects(call('winnow_find_code', { question: FEE, budget: 7 }), /from 100 to 20000/);
    });

    test('the tool sees what is not saved yet', async () => {
      const { document } = await open('shop/pricing.py');
      const edit = new vscode.WorkspaceEdit();
      edit.insert(document.uri, document.positionAt(document.getText().indexOf('    return HEAVY_FEE_CENTS')), '    tariff = "unsaved"\n');
      await vscode.workspace.applyEdit(edit);
      assert.match(await call('winnow_find_code', { question: FEE }), /^shop\/pricing\.py:15-\d+\n[^]*tariff = "unsaved"\n {4}return HEAVY_FEE/m);
      await vscode.commands.executeCommand('workbench.action.files.revert');
    });

    test('the tool reads files as VS Code does, in UTF-16 too', async () => {
      const file = vscode.Uri.joinPath(folder(), 'shop', 'parcels.py');
      await vscode.workspace.fs.writeFile(file, Buffer.from('\uFEFFdef parcel_tariff():\n    return 7\n', 'utf16le'));
      assert.match(await call('winnow_find_code', { question: 'where is `parcel_tariff` defined?' }), /^shop\/parcels\.py:1-2\ndef parcel_tariff\(\):\n {4}return 7/m);
      await vscode.workspace.fs.delete(file);
    });

    test('the tool for answers gives one, with what it cites', async () => {
      const before = winnow.service.history().length;
      const text = await call('winnow_ask', { question: QUESTION });
      assert.match(text, /\n\nCited: shop\/\S+:\d+/);
      assert.equal(winnow.service.history().length, before);
    });

    test('a cancelled tool stops the work', async () => {
      await configure({ ...SHORT, maxTokens: 500 });
      const source = new vscode.CancellationTokenSource();
      const asked = call('winnow_ask', { question: QUESTION }, undefined, source.token);
      await eventually(() => winnow.session.status?.questions.running === 1, () => winnow.session.status);
      source.cancel();
      await assert.rejects(asked, /cancel/i);
      await idle();
      await configure(SHORT);
    });
  });

  suite('the MCP server', () => {
    test('its definition starts a server with the same program, settings and folder', async () => {
      const [definition, ...others] = await winnow.definitions.provideMcpServerDefinitions();
      assert.ok(definition && others.length === 0);
      assert.equal(definition.command, vscode.workspace.getConfiguration('winnow').get('server.path'));
      assert.ok(definition.args.includes('--set=drafter=smollm2-135m') && definition.args.includes('--set=maxTokens=24'), definition.args.join());
      assert.equal(definition.cwd?.fsPath, folder().fsPath);
      const [greeting, listed] = await answers(definition);
      assert.equal((greeting as { serverInfo: { name: string } }).serverInfo.name, 'winnow');
      assert.deepEqual((listed as { tools: { name: string }[] }).tools.map(({ name }) => name).sort(), FOUR_TOOLS);
    });

    test('a changed setting changes the definition', async () => {
      let fired = false;
      const listening = winnow.definitions.onDidChangeMcpServerDefinitions(() => { fired = true; });
      await set('files.exclude', ['*.md']);
      await eventually(() => fired);
      listening.dispose();
      const [definition] = await winnow.definitions.provideMcpServerDefinitions();
      assert.ok(definition?.args.includes('--set=files.exclude=*.md'), definition?.args.join());
      await set('files.exclude', undefined);
    });

    test('VS Code finds it without set-up, and calls its tools', async () => {
      await vscode.commands.executeCommand('workbench.mcp.startServer', '*', { waitForLiveTools: true });
      const found = await eventually(() => vscode.lm.tools.find(({ name }) => name.startsWith('mcp_') && name.endsWith('find_code')), () => vscode.lm.tools.map(({ name }) => name));
      assert.match(await call(found.name, { question: FEE }), /^shop\/pricing\.py:\d+/m);
    });
  });
}

/** Invoke a tool as another extension does; its result's text. */
async function call(name: string, input: object, tokenizationOptions?: vscode.LanguageModelToolTokenizationOptions, token?: vscode.CancellationToken): Promise<string> {
  const { content } = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined, ...(tokenizationOptions && { tokenizationOptions }) }, token);
  return content.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : '')).join('');
}

/** What the program of a definition answers to `initialize` and `tools/list`. */
async function answers({ command, args, cwd, env }: vscode.McpStdioServerDefinition): Promise<unknown[]> {
  const variables = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]));
  const child = spawn(command, args, { cwd: cwd?.fsPath, env: { ...process.env, ...variables }, stdio: ['pipe', 'pipe', 'inherit'] });
  const results = new Map<unknown, unknown>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, result, error } = JSON.parse(line) as { id?: number; result?: unknown; error?: unknown };
    if (id !== undefined) results.set(id, result ?? error);
  });
  const send = (message: object): void => { child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`); };
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } } });
  await eventually(() => results.has(1));
  send({ method: 'notifications/initialized' });
  send({ id: 2, method: 'tools/list' });
  await eventually(() => results.has(2));
  child.stdin.end();
  await eventually(() => child.exitCode !== null);
  return [results.get(1), results.get(2)];
}
