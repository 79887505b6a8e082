/** What the suites share that run inside VS Code's extension host. */
import { appendFileSync } from 'node:fs';
import Mocha from 'mocha';
import * as vscode from 'vscode';
import type { AskListener, Exchange, Question, SpanInfo } from '../../src/ask/contract';
import type { Api } from '../../src/extension';

/** How long a busy machine may take for anything here: it is waited for what happens, and never for time to pass. */
const PATIENCE_MS = 300_000;
export const QUESTION = 'What does the function `total` do?';
export const LONG_QUESTION = 'How does TextWrapper split long words, and in what order?';
/** How test_vscode.py sets the server up: little to read, little to say. */
export const SHORT = { budget: 200, maxTokens: 24 };

/** Run the tests that `define` names (with WINNOW_E2E_ONLY those whose names it matches), up to the first that fails. Each adds a line of JSON to the file WINNOW_E2E_REPORT. */
export function suite(define: () => void): Promise<void> {
  const report = environment('WINNOW_E2E_REPORT');
  const tell = (title: string, ms: number | undefined, error?: Error): void => {
    appendFileSync(report, `${JSON.stringify({ title, ms, error: error && (error.stack ?? error.message) })}\n`);
  };
  const mocha = new Mocha({ ui: 'tdd', timeout: 2 * PATIENCE_MS, bail: true, reporter: 'min' });
  if (process.env.WINNOW_E2E_ONLY) mocha.grep(process.env.WINNOW_E2E_ONLY);
  mocha.suite.emit('pre-require', globalThis, '', mocha);
  define();
  return new Promise((resolve, reject) => {
    const runner = mocha.run((failures) => {
      if (failures === 0) resolve();
      else reject(new Error(`${failures} failed`));
    });
    runner.on('pass', (test) => { tell(test.title, test.duration); });
    runner.on('fail', (test, error) => { tell(test.title, test.duration, error as Error); });
  });
}

export function environment(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

/** The extension, once `api` has activated it. */
export let winnow: Api;

export async function api(): Promise<Api> {
  const extension = vscode.extensions.getExtension<Api>('winnow-lsp.winnow');
  if (extension === undefined) throw new Error('the extension is not there');
  winnow = await extension.activate();
  return winnow;
}

/** Poll until `check` gives something; fails with what `otherwise` says. */
export async function eventually<T>(check: () => T | undefined | false | Promise<T | undefined | false>, otherwise: () => unknown = () => ''): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`it never happened: ${JSON.stringify(otherwise())}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Resolves once the server's models are loaded and the index is up to date. */
export async function serverReady(): Promise<void> {
  await eventually(() => winnow.session.status?.state === 'ready', () => [winnow.session.state, winnow.session.status]);
}

/** Resolves once the server works on no question. */
export async function idle(): Promise<void> {
  await eventually(() => winnow.session.status?.questions.running === 0, () => [winnow.session.state, winnow.session.status]);
}

export function folder(index = 0): vscode.Uri {
  const found = vscode.workspace.workspaceFolders?.[index];
  if (found === undefined) throw new Error(`there is no folder ${index}`);
  return found.uri;
}

export function open(path: string, index = 0): Thenable<vscode.TextEditor> {
  return vscode.window.showTextDocument(vscode.Uri.joinPath(folder(index), path));
}

/** Select from the line that holds `first` for `lines` lines. Selections of the window's own may still be on their way here. */
export async function select(editor: vscode.TextEditor, first: string, lines = 1): Promise<void> {
  const { line } = editor.document.positionAt(editor.document.getText().indexOf(first));
  const wanted = new vscode.Selection(line, 0, line + lines, 0);
  await eventually(async () => {
    editor.selection = wanted;
    await vscode.commands.executeCommand('setContext', 'winnow.e2e', line); // there and back, after all that was sent before
    return editor.selection.isEqual(wanted);
  });
}

export interface Asking {
  pieces: string[];
  messages: string[];
  /** What was kept, with how many pieces had come before. */
  kept: { spans: SpanInfo[]; after: number }[];
  done: Promise<Exchange>;
}

/** What a test does as soon as something comes, however busy the machine is. */
export interface Reaction {
  piece?: (cancel: () => void) => void;
  message?: (text: string, cancel: () => void) => void;
}

/** Ask through the service, and keep what comes. */
export function asking(question: Question, react: Reaction = {}): Asking {
  const source = new vscode.CancellationTokenSource();
  const cancel = (): void => { source.cancel(); };
  const pieces: string[] = [];
  const messages: string[] = [];
  const kept: Asking['kept'] = [];
  const listener: AskListener = {
    kept: (spans) => { kept.push({ spans, after: pieces.length }); },
    delta: (text) => { pieces.push(text); react.piece?.(cancel); },
    progress: (message) => { messages.push(message); react.message?.(message, cancel); },
  };
  return { pieces, messages, kept, done: winnow.service.ask(question, listener, source.token) };
}

export async function set(name: string, value: unknown): Promise<void> {
  await vscode.workspace.getConfiguration('winnow').update(name, value, vscode.ConfigurationTarget.Global);
}

export async function lenses(uri: vscode.Uri): Promise<vscode.CodeLens[]> {
  return vscode.commands.executeCommand('vscode.executeCodeLensProvider', uri);
}

/** Change settings and wait until the server has them: it takes all of them at once, so its lenses, turned over last, tell. */
export async function configure(changes: Record<string, unknown>): Promise<void> {
  const { uri } = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(folder(), 'shop/pricing.py'));
  for (const [name, value] of Object.entries(changes)) await set(name, value);
  const on = !vscode.workspace.getConfiguration('winnow').get('codeLens.enabled', false);
  await set('codeLens.enabled', on);
  await eventually(async () => (await lenses(uri)).length > 0 === on);
}

/** Keep what the extension tells the user by messages, instead of showing it; `answers` are the buttons pressed. */
export function messages(answers: Record<string, string> = {}): { texts: string[]; restore: () => void } {
  const texts: string[] = [];
  const before = { ...vscode.window };
  const window = vscode.window as unknown as Record<string, unknown>;
  for (const name of ['showInformationMessage', 'showWarningMessage', 'showErrorMessage'] as const) {
    window[name] = (text: string) => {
      texts.push(text);
      return Promise.resolve(Object.entries(answers).find(([part]) => text.includes(part))?.[1]);
    };
  }
  return { texts, restore: () => { Object.assign(window, { showInformationMessage: before.showInformationMessage, showWarningMessage: before.showWarningMessage, showErrorMessage: before.showErrorMessage }); } };
}
