/** The question that is being answered, and everything a page needs to show it, even one that is loaded later. */
import type { CancellationTokenSource } from 'vscode';
import type { Service } from '../asking/service';
import type { Exchange, HostMessage, Question, SentenceInfo } from './contract';
import { keptLinks, shownExchange, type Relative } from './links';
import { wording, wordsOf } from './wording';

type AskedQuestion = Question & { conversation: string };

interface CurrentQuestion {
  cancellation: CancellationTokenSource;
  done: Promise<Exchange>;
  started: Extract<HostMessage, { type: 'started' }>;
  kept: Extract<HostMessage, { type: 'kept' }>;
  answer: string;
  sentences: SentenceInfo[];
  progress: string;
}

/** The parts of the extension that an asker uses; a test has its own. */
export interface AskContext {
  service: Pick<Service, 'ask' | 'history'>;
  relative: Relative;
  /** Sends a message to the page, and says whether there is one; else it is lost, and `replay` sends it again. */
  post: (message: HostMessage) => boolean;
  cancellation: () => CancellationTokenSource;
  newId: () => string;
}

export class Asker {
  private running: CurrentQuestion | undefined;
  private queue: Question[] = [];
  /** The conversation that queued questions without one begin; the page knows its id once the first of them is asked. */
  private begun?: string;
  /** What the page has missed of the last question: `started`, and `finished` once it came. */
  private missed: HostMessage[] = [];

  constructor(private readonly context: AskContext) {}

  /** Ask; an answer that is still being written is stopped first. */
  async ask(question: Question): Promise<Exchange> {
    while (this.running) await this.stop();
    const running = this.start({ ...question, conversation: question.conversation ?? this.context.newId() });
    this.running = running;
    this.missed = this.context.post(running.started) ? [] : [running.started];
    return running.done;
  }

  /** Ask now, or once the answers before it are there. */
  async enqueue(question: Question): Promise<void> {
    if (!this.running) {
      await this.ask(question);
      return;
    }
    this.queue.push({ ...question, conversation: question.conversation ?? (this.begun ??= this.context.newId()) });
    this.context.post(this.queued());
  }

  unqueue(index: number): void {
    this.queue.splice(index, 1);
    this.context.post(this.queued());
  }

  /** Stop the current answer; resolves once it has ended. */
  async stop(): Promise<void> {
    this.running?.cancellation.cancel();
    await this.running?.done;
  }

  /** Tell the page about the history; after what is under way now, so that `finished` comes before it. */
  changedHistory(): void {
    setTimeout(() => { this.context.post(this.history()); });
  }

  /** The messages that a page that has just been loaded has missed. */
  replay(): HostMessage[] {
    const missed = this.missed;
    this.missed = [];
    if (!this.running) return [this.history(), ...missed];
    const { started, kept, answer, sentences, progress } = this.running;
    return [this.history(), started, { type: 'progress', message: progress }, kept, { type: 'delta', text: answer, sentences }, this.queued()];
  }

  private queued(): HostMessage {
    return { type: 'queued', questions: this.queue.map(wording) };
  }

  /** Later, so that a question asked meanwhile goes first. */
  private next(): void {
    setTimeout(() => {
      const question = this.running ? undefined : this.queue.shift();
      if (!question) return;
      this.context.post(this.queued());
      void this.ask(question);
    });
  }

  private history(): HostMessage {
    const { service, relative } = this.context;
    return { type: 'history', exchanges: service.history().map((exchange) => shownExchange(exchange, relative)) };
  }

  private start(question: AskedQuestion): CurrentQuestion {
    if (question.conversation === this.begun) this.begun = undefined;
    const running: CurrentQuestion = {
      cancellation: this.context.cancellation(),
      kept: { type: 'kept', links: [] },
      answer: '',
      sentences: [],
      progress: '',
      started: { type: 'started', question: wording(question), conversation: question.conversation, place: question.place },
      done: Promise.resolve().then(() => this.run(question, running)),
    };
    return running;
  }

  private async run(question: AskedQuestion, running: CurrentQuestion): Promise<Exchange> {
    const { service, relative, post } = this.context;
    const listener = {
      kept: (spans: Exchange['spans'], provisional?: boolean): void => {
        running.kept = { type: 'kept', links: keptLinks(spans, relative), provisional };
        post(running.kept);
      },
      delta: (text: string, sentences: SentenceInfo[] = []): void => {
        running.answer += text;
        running.sentences.push(...sentences);
        post({ type: 'delta', text, sentences });
      },
      progress: (message: string): void => {
        running.progress = message;
        post({ type: 'progress', message });
      },
    };
    const exchange = await service.ask(question, listener, running.cancellation.token).catch((error: unknown) => failed(question, running.answer, error));
    running.cancellation.dispose();
    this.running = undefined;
    const finished = { type: 'finished' as const, exchange: shownExchange(exchange, relative) };
    post(finished);
    if (this.missed.length > 0) this.missed.push(finished);
    this.next();
    return exchange;
  }
}

/** An exchange that failed because of a fault of the service, which should not reject. */
function failed(question: AskedQuestion, answer: string, error: unknown): Exchange {
  const { conversation, place } = question;
  const known = { id: `failed-${Date.now()}`, conversation, asked: wordsOf(question), question: wording(question), place, askedAt: Date.now(), answer, citations: [], spans: [], notices: [] };
  return { ...known, outcome: 'failed', error: error instanceof Error ? error.message : String(error) };
}
