/** The Ask view in the side bar: holds the page, and passes on what it and the rest of the extension tell each other. */
import { randomBytes, randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import { Asker } from './asker';
import type { AskService, AskView, Exchange, HostMessage, PageMessage, Question } from './contract';
import { pageHtml } from './page';

const VIEW = 'winnow.askView';

export function registerAskView(context: vscode.ExtensionContext, service: AskService): AskView {
  return new View(vscode.Uri.joinPath(context.extensionUri, 'dist'), service);
}

class View implements AskView, vscode.WebviewViewProvider {
  private webview: vscode.Webview | undefined;
  /** Said before the page was ready. */
  private waiting: HostMessage[] = [];
  private ready = false;
  private readonly asker: Asker;
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(private readonly files: vscode.Uri, private readonly service: AskService) {
    this.asker = new Asker(service, (message) => { this.post(message); }, () => new vscode.CancellationTokenSource(), randomUUID);
    this.subscriptions = [
      vscode.window.registerWebviewViewProvider(VIEW, this),
      service.onDidChangeHistory(() => { this.asker.changedHistory(); }),
      service.onDidChangePlace(() => { this.post(this.place()); }),
      service.onDidChangeReadiness(() => { this.post(this.readiness()); }),
    ];
  }

  resolveWebviewView({ webview, onDidDispose }: vscode.WebviewView): void {
    this.webview = webview;
    this.ready = false;
    webview.options = { enableScripts: true, localResourceRoots: [this.files] };
    webview.onDidReceiveMessage((message: PageMessage) => this.receive(message));
    onDidDispose(() => { this.forgetPage(webview); });
    const address = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(this.files, name)).toString();
    const nonce = randomBytes(16).toString('base64');
    webview.html = pageHtml({ source: webview.cspSource, script: address('ask.js'), style: address('ask.css'), nonce });
  }

  async show(text?: string): Promise<void> {
    this.sayOnceReady({ type: 'focus', ...(text !== undefined && { text }) });
    await vscode.commands.executeCommand(`${VIEW}.focus`);
  }

  async ask(question: Question): Promise<Exchange> {
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    return this.asker.ask(question);
  }

  async clear(): Promise<void> {
    this.sayOnceReady({ type: 'new' });
    await this.show();
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    void this.asker.stop();
  }

  private async receive(message: PageMessage): Promise<void> {
    switch (message.type) {
      case 'ready':
        this.welcome();
        return;
      case 'ask':
        await this.asker.ask(questionOf(message));
        return;
      case 'stop':
        return this.asker.stop();
      case 'open':
        return this.service.openLocation(message.location);
      case 'spans':
        return this.service.showSpans(message.exchangeId);
      case 'copy':
        return this.service.copy(message.text);
      case 'insert':
        return this.service.insert(message.text);
      case 'forget':
        return this.forget(message.conversation);
      case 'browse':
        await browse(message.address);
        return;
      case 'act':
        await this.act(message.index);
    }
  }

  private welcome(): void {
    this.ready = true;
    const messages = [this.readiness(), this.place(), ...this.asker.replay(), ...this.waiting];
    this.waiting = [];
    for (const message of messages) this.post(message);
  }

  /** What the page cannot ask for again waits until it listens; all else it gets when it is ready. */
  private sayOnceReady(message: HostMessage): void {
    if (this.ready) this.post(message);
    else this.waiting.push(message);
  }

  private post(message: HostMessage): void {
    if (this.ready) void this.webview?.postMessage(message);
  }

  private place(): HostMessage {
    const place = this.service.place();
    return { type: 'place', ...(place && { place }) };
  }

  private readiness(): HostMessage {
    const readiness = this.service.readiness();
    return { type: 'readiness', ...(readiness && { readiness }) };
  }

  private forgetPage(webview: vscode.Webview): void {
    if (this.webview !== webview) return;
    this.webview = undefined;
    this.ready = false;
  }

  private async forget(conversation: string | undefined): Promise<void> {
    if (conversation === undefined && !(await sureToForgetAll())) return;
    await this.service.forget(conversation);
  }

  private async act(index: number): Promise<void> {
    const action = this.service.readiness()?.actions[index];
    if (action) await vscode.commands.executeCommand(action.command);
  }
}

function questionOf({ text, about, place, conversation }: Extract<PageMessage, { type: 'ask' }>): Question {
  return { ...(text !== undefined && { text }), ...(about && { about }), ...(place && { place }), ...(conversation !== undefined && { conversation }) };
}

/** VS Code asks the user before it opens an address outside of it, unless they trust its domain. */
async function browse(address: string): Promise<void> {
  const uri = vscode.Uri.parse(address, true);
  if (uri.scheme === 'https' || uri.scheme === 'http') await vscode.env.openExternal(uri);
}

async function sureToForgetAll(): Promise<boolean> {
  const yes = 'Delete All';
  const answer = await vscode.window.showWarningMessage('Delete all questions and answers of this workspace?', { modal: true }, yes);
  return answer === yes;
}
