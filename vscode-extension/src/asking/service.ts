/** Asks the server, and remembers what was answered. */
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import type { AskListener, Exchange, Question, SentenceInfo, SpanInfo } from '../ask/contract';
import { titleOf, wording, wordsOf } from '../ask/wording';
import type { AskParams, AskResult } from '../server/protocol';
import type { Session } from '../server/session';
import type { History } from './history';
import { atCommit, cursorIn } from './places';
import { reason, sendAsk, wasStopped } from './requests';

type Asked = Omit<Exchange, 'outcome' | 'answer'>;

export class Service implements vscode.Disposable {
  private readonly historyChanged = new vscode.EventEmitter<void>();

  readonly onDidChangeHistory = this.historyChanged.event;

  constructor(private readonly session: Session, private readonly past: History) {}

  /**
   * Ask, and add the exchange to the history. Never rejects: errors are exchanges that `failed`, and cancelling `token`
   * makes one that was `cancelled`, with the answer as far as it came.
   */
  async ask(question: Question, listener: AskListener, token: vscode.CancellationToken): Promise<Exchange> {
    const asked = begin(question);
    let answer = '';
    let spans: SpanInfo[] = [];
    const sentences: SentenceInfo[] = [];
    const gather = {
      ...listener,
      delta: (piece: string, found: SentenceInfo[] = []): void => { answer += piece; sentences.push(...found); listener.delta(piece, found); },
      kept: (kept: SpanInfo[], provisional?: boolean): void => { spans = kept; listener.kept(kept, provisional); },
    };
    let exchange: Exchange;
    try {
      const client = await this.session.ready(token);
      exchange = answered(asked, question, await sendAsk(client, this.params(question, asked.conversation), gather, token));
    } catch (error) {
      const cancelled = token.isCancellationRequested || wasStopped(error);
      exchange = { ...asked, answer, sentences, spans, ...(cancelled ? { outcome: 'cancelled' } : { outcome: 'failed', error: reason(error) }) };
    }
    await this.past.add(exchange);
    this.historyChanged.fire();
    return exchange;
  }

  /** Everything asked in this workspace, oldest first, in earlier sessions too. */
  history(): readonly Exchange[] {
    return this.past.all();
  }

  /** Forget one conversation, or all. */
  async forget(conversation?: string): Promise<void> {
    await this.past.forget(conversation);
    this.historyChanged.fire();
  }

  dispose(): void {
    this.historyChanged.dispose();
  }

  /** Earlier turns are sent too, because a server that was restarted does not know them. */
  private params(question: Question, conversation: string): AskParams {
    return { ...askParams(question), conversation, earlier: this.past.turns(conversation) };
  }
}

/** A question as the server takes it. A file without a selection stands for the cursor in it. */
export function askParams({ text, about, diagnostics, place }: Question): AskParams {
  const words = { question: text, about, diagnostics };
  if (place === undefined) return words;
  const cursor = cursorIn(place.uri);
  return { ...words, textDocument: { uri: place.uri }, range: place.range ?? (cursor && { start: cursor, end: cursor }) };
}

function begin(question: Question): Asked {
  const { conversation = randomUUID(), place } = question;
  return { id: randomUUID(), conversation, asked: wordsOf(question), question: wording(question), place, askedAt: Date.now(), citations: [], spans: [], notices: [] };
}

function answered(asked: Asked, { text }: Question, { question, answer, thinking, finish, citations, citedBefore = [], sentences, spans, stats, notices }: AskResult): Exchange {
  const cited = [...citations, ...citedBefore.map(atCommit)];
  const title = text ?? titleOf(question);
  return { ...asked, outcome: 'answered', question, title: title === question ? undefined : title, answer, thinking, finish, citations: cited, sentences, spans, stats, notices };
}
