/** The Ask view in the side bar: holds the page, and carries messages between it and the rest of the extension. */
import { randomBytes, randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import { currentPlace, openLocation, relativePath } from '../asking/places';
import type { Service } from '../asking/service';
import type { Session } from '../server/session';
import { linesOf } from '../documents';
import { lastLine } from '../lines';
import { Asker } from './asker';
import { completions } from './completions';
import type { Exchange, HostMessage, Location, PageMessage, Question } from './contract';
import { insertion } from './inserting';
import { pageHtml } from './page';
import { readinessOf } from './readiness';
import { Starters } from './starters';

const VIEW = 'winnow.askView';
const MOST_PEEKED = 16;

export class AskView implements vscode.Disposable, vscode.WebviewViewProvider {
  private webview: vscode.Webview | undefined;
  /** Messages from before the page was ready. */
  private waiting: HostMessage[] = [];
  private ready = false;
  /** The file of a place that the page opened: it does not become what the next question is about. */
  private opened: string | undefined;
  /** While a place is opened, no editor or another may be the active one. */
  private opening = false;
  private readonly starters: Starters;
  private readonly asker: Asker;
  private readonly subscriptions: { dispose(): unknown }[];

  /** `files` is the folder with the page's script and style; `showSpans` shows those of an exchange. */
  constructor(
    private readonly files: vscode.Uri,
    private readonly service: Service,
    private readonly session: Session,
    private readonly showSpans: (exchange: Exchange) => Promise<void>,
  ) {
    const post = (message: HostMessage): boolean => this.post(message);
    this.asker = new Asker({ service, relative: relativePath, post, cancellation: () => new vscode.CancellationTokenSource(), newId: randomUUID });
    const moved = (): void => { if (!this.holdsPlace()) post(place()); };
    const turned = (): void => { for (const message of [this.readiness(), this.model()]) post(message); };
    this.starters = new Starters(session, (questions) => { post({ type: 'starters', questions }); }, () => service.history().length === 0);
    this.subscriptions = [
      vscode.window.registerWebviewViewProvider(VIEW, this),
      service.onDidChangeHistory(() => { this.asker.changedHistory(); }),
      vscode.window.onDidChangeActiveTextEditor(moved),
      vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
        if (kind !== undefined && kind !== vscode.TextEditorSelectionChangeKind.Command) this.opened = undefined;
        moved();
      }),
      this.starters,
      session.onDidChange(turned),
      session.onDidReport(turned),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    const { webview } = view;
    this.webview = webview;
    this.ready = false;
    webview.options = { enableScripts: true, localResourceRoots: [this.files] };
    webview.onDidReceiveMessage((message: PageMessage) => this.receive(message));
    view.onDidChangeVisibility(() => { if (!view.visible) this.ready = false; }); // VS Code destroys the page of a hidden view
    view.onDidDispose(() => { this.forgetPage(webview); });
    const address = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(this.files, name)).toString();
    const nonce = randomBytes(16).toString('base64');
    webview.html = pageHtml({ source: webview.cspSource, script: address('ask.js'), style: address('ask.css'), nonce });
  }

  /** Reveal the view and focus the question box, with `text` in it if given. */
  async show(text?: string): Promise<void> {
    this.sayOnceReady({ type: 'focus', text });
    await vscode.commands.executeCommand(`${VIEW}.focus`);
  }

  /** Reveal the view and ask; resolves with the exchange once it is over. */
  async ask(question: Question): Promise<Exchange> {
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    return this.asker.ask(question);
  }

  /** Start a new conversation. */
  async clear(): Promise<void> {
    this.sayOnceReady({ type: 'new' });
    await this.show();
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
    void this.asker.stop();
  }

  private async receive(message: PageMessage): Promise<void> {
    switch (message.type) {
      case 'ready':
        this.welcome();
        return;
      case 'ask':
        return this.asker.enqueue(message);
      case 'unqueue':
        this.asker.unqueue(message.index);
        return;
      case 'complete':
        this.post({ type: 'completions', word: message.word, items: await completions(message.word, message.first, this.session) });
        return;
      case 'peek':
        return this.peek(message.location);
      case 'choose-model':
        await vscode.commands.executeCommand('winnow.chooseTarget');
        return;
      case 'stop':
        return this.asker.stop();
      case 'open':
        return this.open(message.location);
      case 'spans':
        return this.reveal(message.exchangeId);
      case 'copy':
        await vscode.env.clipboard.writeText(message.text);
        return;
      case 'insert':
        return insert(message.text);
      case 'setting':
        await vscode.commands.executeCommand('workbench.action.openSettings', `@id:${message.name}`);
        return;
      case 'forget':
        return this.forget(message.conversation);
      case 'browse':
        return browse(message.address);
      case 'act':
        return this.act(message.index);
    }
  }

  private welcome(): void {
    this.ready = true;
    const messages = [this.readiness(), this.model(), { type: 'starters' as const, questions: this.starters.questions }, place(), ...this.asker.replay(), ...this.waiting];
    this.starters.show();
    this.waiting = [];
    for (const message of messages) this.post(message);
  }

  /** Messages that the page cannot ask for again wait until it listens; it gets all others when it is ready. */
  private sayOnceReady(message: HostMessage): void {
    if (this.ready) this.post(message);
    else this.waiting.push(message);
  }

  private post(message: HostMessage): boolean {
    if (this.ready) void this.webview?.postMessage(message);
    return this.ready;
  }

  private readiness(): Extract<HostMessage, { type: 'readiness' }> {
    return { type: 'readiness', readiness: readinessOf(this.session.state, this.session.status) };
  }

  private model(): HostMessage {
    return { type: 'model', name: this.session.status?.models.target.name };
  }

  /** Whether the editor still shows what the page opened, untouched. */
  private holdsPlace(): boolean {
    if (this.opening) return true;
    if (vscode.window.activeTextEditor?.document.uri.toString() !== this.opened) this.opened = undefined;
    return this.opened !== undefined;
  }

  private async peek(location: Location): Promise<void> {
    const lines = (await linesOf(location.uri)) ?? [];
    const { start } = location.range;
    const code = lines.slice(start.line, Math.min(lastLine(location.range) + 1, start.line + MOST_PEEKED)).join('\n');
    if (code !== '') this.post({ type: 'peeked', location, code });
  }

  private async open(location: Location): Promise<void> {
    this.opening = true;
    await openLocation(location);
    this.opening = false;
    this.opened = location.uri;
  }

  private forgetPage(webview: vscode.Webview): void {
    if (this.webview !== webview) return;
    this.webview = undefined;
    this.ready = false;
  }

  private async reveal(id: string): Promise<void> {
    const exchange = this.service.history().find((one) => one.id === id);
    if (exchange !== undefined) await this.showSpans(exchange);
  }

  private async forget(conversation: string | undefined): Promise<void> {
    if (conversation !== undefined || (await sureToForgetAll())) await this.service.forget(conversation);
  }

  private async act(index: number): Promise<void> {
    const action = this.readiness().readiness?.actions[index];
    if (action) await vscode.commands.executeCommand(action.command);
  }
}

function place(): HostMessage {
  return { type: 'place', place: currentPlace() };
}

/** Put code on lines of its own at the cursor, or in place of the selected lines. */
async function insert(text: string): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor !== undefined) await insertInto(editor, text);
  else void vscode.window.showInformationMessage('Winnow: open a file first; the text is inserted at its cursor.');
}

async function insertInto(editor: vscode.TextEditor, code: string): Promise<void> {
  const { document, selection, options: { insertSpaces, tabSize } } = editor;
  const lines = document.getText().split(/\r?\n/);
  const unit = insertSpaces === false ? '\t' : ' '.repeat(Number(tabSize));
  const { line, replaced, text } = insertion(code, lines, selection, unit);
  const place = new vscode.Range(line, 0, line + replaced, 0);
  await editor.edit((edit) => { edit.replace(place, line >= document.lineCount ? `\n${text}` : text); });
}

/** VS Code asks the user before it opens an address outside of it, unless they trust its domain. */
async function browse(address: string): Promise<void> {
  const uri = vscode.Uri.parse(address, true);
  if (uri.scheme === 'https' || uri.scheme === 'http') await vscode.env.openExternal(uri);
}

async function sureToForgetAll(): Promise<boolean> {
  return (await vscode.window.showWarningMessage('Delete all questions and answers of this workspace?', { modal: true }, 'Delete All')) === 'Delete All';
}
