/** The question that is being answered, and everything the page must know to show it: also a page that comes late. */
import type { AskListener, AskService, CancellationToken, Exchange, HostMessage, KeptLink, Question } from './contract';
import { keptLinks, shownExchange } from './links';

/** `vscode.CancellationTokenSource`. */
export interface Cancellation {
  readonly token: CancellationToken;
  cancel(): void;
  dispose(): void;
}

interface Running {
  cancellation: Cancellation;
  done: Promise<Exchange>;
  started: Extract<HostMessage, { type: 'started' }>;
  kept: KeptLink[];
  answer: string;
  progress: string;
}

export class Asker {
  private running: Running | undefined;

  /** `post` tells the page; without one it is lost, and `replay` says it again. */
  constructor(
    private readonly service: AskService,
    private readonly post: (message: HostMessage) => void,
    private readonly cancellation: () => Cancellation,
    private readonly newId: () => string,
  ) {}

  /** Ask; an answer that is on its way is stopped first. */
  async ask(question: Question): Promise<Exchange> {
    while (this.running) await this.stop();
    const conversation = question.conversation ?? this.newId();
    const running = this.start({ ...question, conversation }, conversation);
    this.running = running;
    this.post(running.started);
    return running.done;
  }

  /** Stop what is on its way; resolves once it has ended. */
  async stop(): Promise<void> {
    this.running?.cancellation.cancel();
    await this.running?.done;
  }

  /** Tell the page about the history; after what is under way now, so that `finished` comes before it. */
  changedHistory(): void {
    setTimeout(() => { this.post(this.history()); });
  }

  history(): HostMessage {
    return { type: 'history', exchanges: this.service.history().map((exchange) => this.shown(exchange)) };
  }

  /** What a page that has just been loaded has missed. */
  replay(): HostMessage[] {
    if (!this.running) return [this.history()];
    const { started, kept, answer, progress } = this.running;
    return [this.history(), started, { type: 'progress', message: progress }, { type: 'kept', links: kept }, { type: 'delta', text: answer }];
  }

  private start(question: Question, conversation: string): Running {
    const { place } = question;
    const cancellation = this.cancellation();
    const running: Running = {
      cancellation,
      kept: [],
      answer: '',
      progress: '',
      started: { type: 'started', question: wording(question), conversation, ...(place && { place }) },
      done: Promise.resolve().then(() => this.run(question, running)),
    };
    return running;
  }

  private async run(question: Question, running: Running): Promise<Exchange> {
    const listener: AskListener = {
      kept: (spans): void => {
        running.kept = keptLinks(spans, (uri) => this.service.relative(uri));
        this.post({ type: 'kept', links: running.kept });
      },
      delta: (text): void => {
        running.answer += text;
        this.post({ type: 'delta', text });
      },
      progress: (message): void => {
        running.progress = message;
        this.post({ type: 'progress', message });
      },
    };
    const answer = this.service.ask(question, listener, running.cancellation.token);
    const exchange = await answer.catch((error: unknown) => failed(running, error));
    running.cancellation.dispose();
    this.running = undefined;
    this.post({ type: 'finished', exchange: this.shown(exchange) });
    return exchange;
  }

  private shown(exchange: Exchange): Extract<HostMessage, { type: 'finished' }>['exchange'] {
    return shownExchange(exchange, (uri) => this.service.relative(uri));
  }
}

/** A question that was not answered because of a fault of the service, which should not reject. */
function failed({ started: { question, conversation, place }, answer }: Running, error: unknown): Exchange {
  const known = { id: `failed-${Date.now()}`, conversation, question, askedAt: Date.now(), answer, citations: [], spans: [], notices: [] };
  return { ...known, outcome: 'failed', error: error instanceof Error ? error.message : String(error), ...(place && { place }) };
}

/** How a question reads before the server has worded it. */
function wording({ text, about, place }: Question): string {
  if (text !== undefined) return text;
  const what = place?.label ?? 'this';
  switch (about) {
    case 'usage':
      return `How is ${what} used?`;
    case 'impact':
      return `What would break if ${what} changed?`;
    case 'why':
      return `Why is ${what} so?`;
    case 'diagnostic':
      return `Explain the problem in ${what}`;
    default:
      return `Explain ${what}`;
  }
}
