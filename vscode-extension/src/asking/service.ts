/** `AskService`: asks the server, remembers, opens. */
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import type { AskListener, AskService, CancellationToken, Exchange, Location, Place, Question, Readiness } from '../ask/contract';
import { readinessOf } from '../ask/readiness';
import type { AskParams, AskResult } from '../server/protocol';
import type { Session } from '../server/session';
import type { History } from './history';
import { atCommit, currentPlace, cursorIn, openLocation, plain, relativePath } from './places';
import { reason, sendAsk, wasStopped } from './requests';

/** What is known before the answer. */
type Asked = Pick<Exchange, 'id' | 'conversation' | 'question' | 'askedAt' | 'citations' | 'spans' | 'notices'> & { place?: Place };

export class Service implements AskService, vscode.Disposable {
  private readonly historyChanged = new vscode.EventEmitter<void>();
  private readonly placeChanged = new vscode.EventEmitter<void>();
  private readonly readinessChanged = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];

  readonly onDidChangeHistory = this.historyChanged.event;
  readonly onDidChangePlace = this.placeChanged.event;
  readonly onDidChangeReadiness = this.readinessChanged.event;

  constructor(
    private readonly session: Session,
    private readonly past: History,
    private readonly spansOf: (exchange: Exchange) => Promise<void>,
  ) {
    const moved = (): void => { this.placeChanged.fire(); };
    const turned = (): void => { this.readinessChanged.fire(); };
    this.subscriptions = [
      vscode.window.onDidChangeActiveTextEditor(moved),
      vscode.window.onDidChangeTextEditorSelection(moved),
      session.onDidChange(turned),
      session.onDidReport(turned),
    ];
  }

  async ask(question: Question, listener: AskListener, token: CancellationToken): Promise<Exchange> {
    const asked = this.begin(question);
    let text = '';
    const gather = { ...listener, delta: (piece: string): void => { text += piece; listener.delta(piece); } };
    let exchange: Exchange;
    try {
      const client = await this.session.ready(token);
      exchange = answered(asked, await sendAsk(client, this.params(question, asked.conversation), gather, token));
    } catch (error) {
      exchange = stopped(asked, text, error, token.isCancellationRequested || wasStopped(error));
    }
    await this.past.add(exchange);
    this.historyChanged.fire();
    return exchange;
  }

  history(): readonly Exchange[] {
    return this.past.all();
  }

  async forget(conversation?: string): Promise<void> {
    await this.past.forget(conversation);
    this.historyChanged.fire();
  }

  place(): Place | undefined {
    return currentPlace();
  }

  readiness(): Readiness | undefined {
    return readinessOf(this.session.state, this.session.status);
  }

  openLocation(location: Location): Promise<void> {
    return openLocation(location);
  }

  async showSpans(exchangeId: string): Promise<void> {
    const exchange = this.past.find(exchangeId);
    if (exchange !== undefined) await this.spansOf(exchange);
  }

  async insert(text: string): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
      void vscode.window.showInformationMessage('Open a file first: Winnow inserts where its cursor is.');
      return;
    }
    await editor.edit((edit) => { edit.replace(editor.selection, text); });
  }

  async copy(text: string): Promise<void> {
    await vscode.env.clipboard.writeText(text);
  }

  relative(uri: string): string {
    return relativePath(uri);
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.historyChanged, this.placeChanged, this.readinessChanged).dispose();
  }

  private begin({ text, about, place, conversation }: Question): Asked {
    return {
      id: randomUUID(),
      conversation: conversation ?? randomUUID(),
      question: text ?? `${about ?? ''} ${place?.label ?? ''}`.trim(),
      askedAt: Date.now(),
      citations: [],
      spans: [],
      notices: [],
      ...(place && { place }),
    };
  }

  /** Earlier turns come along, because a server that was restarted does not know them. */
  private params(question: Question, conversation: string): AskParams {
    return { ...askParams(question), conversation, earlier: this.past.turns(conversation) };
  }
}

/** A question as the server takes it. A file without a selection stands for the cursor in it. */
export function askParams({ text, about, diagnostics, place }: Question): AskParams {
  const words = { ...(text !== undefined && { question: text }), ...(about && { about }), ...(diagnostics && { diagnostics }) };
  if (place === undefined) return words;
  const cursor = cursorIn(place.uri);
  const range = place.range ?? (cursor && plain(new vscode.Range(cursor, cursor)));
  return { ...words, textDocument: { uri: place.uri }, ...(range && { range }) };
}

function answered(asked: Asked, { question, answer, thinking, finish, citations, citedBefore = [], spans, stats, notices }: AskResult): Exchange {
  const cited = [...citations, ...citedBefore.map(atCommit)];
  return { ...asked, outcome: 'answered', question, answer, ...(thinking && { thinking }), finish, citations: cited, spans, stats, notices };
}

function stopped(asked: Asked, answer: string, error: unknown, cancelled: boolean): Exchange {
  if (cancelled) return { ...asked, outcome: 'cancelled', answer };
  return { ...asked, outcome: 'failed', answer, error: reason(error) };
}
