/** What the suites share that run inside VS Code's extension host. */
import { appendFileSync } from 'node:fs';
import Mocha from 'mocha';
import * as vscode from 'vscode';
import type { Exchange, Question } from '../../src/ask/contract';
import type { Api } from '../../src/extension';

/** Run the tests that `define` names (with WINNOW_E2E_ONLY those whose names it matches), up to the first that fails. Each adds a line of JSON to the file WINNOW_E2E_REPORT. */
export function suite(define: () => void): Promise<void> {
  const report = environment('WINNOW_E2E_REPORT');
  const tell = (title: string, ms: number | undefined, error?: Error): void => {
    appendFileSync(report, `${JSON.stringify({ title, ms, error: error && (error.stack ?? error.message) })}\n`);
  };
  const mocha = new Mocha({ ui: 'tdd', timeout: 150_000, bail: true, reporter: 'min' });
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

export async function api(): Promise<Api> {
  const extension = vscode.extensions.getExtension<Api>('winnow-lsp.winnow');
  if (extension === undefined) throw new Error('the extension is not there');
  return extension.activate();
}

/** Poll until `check` gives something; fails with what `otherwise` says. */
export async function eventually<T>(check: () => T | undefined | false, otherwise: () => unknown = () => '', within = 30_000): Promise<T> {
  const end = Date.now() + within;
  for (;;) {
    const found = check();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`it never happened: ${JSON.stringify(otherwise())}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Resolves once the server's models are loaded and the index is up to date. */
export async function serverReady({ session }: Api): Promise<void> {
  await eventually(() => session.status?.state === 'ready', () => [session.state, session.status], 120_000);
}

export function folder(index = 0): vscode.Uri {
  const found = vscode.workspace.workspaceFolders?.[index];
  if (found === undefined) throw new Error(`there is no folder ${index}`);
  return found.uri;
}

export function open(path: string, index = 0): Thenable<vscode.TextEditor> {
  return vscode.window.showTextDocument(vscode.Uri.joinPath(folder(index), path));
}

/** Select from the line that holds `first` for `lines` lines. */
export function select(editor: vscode.TextEditor, first: string, lines = 1): void {
  const line = editor.document.positionAt(editor.document.getText().indexOf(first)).line;
  editor.selection = new vscode.Selection(line, 0, line + lines, 0);
}

export interface Asking {
  pieces: string[];
  messages: string[];
  cancel: () => void;
  done: Promise<Exchange>;
}

/** Ask through the service, and keep what comes. */
export function asking({ service }: Api, question: Question): Asking {
  const source = new vscode.CancellationTokenSource();
  const pieces: string[] = [];
  const messages: string[] = [];
  const listener = { delta: (text: string): void => { pieces.push(text); }, progress: (message: string): void => { messages.push(message); } };
  return { pieces, messages, cancel: () => { source.cancel(); }, done: service.ask(question, listener, source.token) };
}

export async function configure(name: string, value: unknown): Promise<void> {
  await vscode.workspace.getConfiguration('winnow').update(name, value, vscode.ConfigurationTarget.Global);
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
