/**
 * What the Ask view and the rest of the extension agree on.
 *
 * The view's page knows only this file: it gets and sends plain JSON. `AskService` is implemented in `src/asking`,
 * `AskView` in `src/ask`. Names and meanings of the data are those of docs/protocol.md.
 */

/** Zero-based, counted in UTF-16 code units, as in the Language Server Protocol. */
export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

export interface Location {
  uri: string;
  range: Range;
}

/** Code that the target saw: where, how it was scored, and why. */
export interface SpanInfo {
  location: Location;
  /** Log-odds that the best unit in it answers the question. */
  score: number;
  /** What each feature adds to the score. */
  features: Record<string, number>;
  tokens: number;
  /** function, method, class_header, imports, top_level, section or block. */
  kind: string;
  /** Qualified; may be empty. */
  name: string;
}

export interface Stats {
  workspaceTokens: number;
  keptTokens: number;
  budgetTokens: number;
  answerProbability: number;
  /** Seconds, in order; together they make up `ttft`. */
  stages: Record<string, number>;
  /** Seconds from the start of work to the first token; missing if there was none. */
  ttft?: number;
  promptTokens: number;
  reusedTokens: number;
  decodeTokens: number;
  decodeTokensPerSecond: number;
}

/** What a reasoning model thought before its answer: untrusted plain text. */
export interface Thinking {
  text: string;
  seconds: number;
  tokens: number;
}

export type Topic = 'code' | 'diagnostic' | 'usage' | 'impact' | 'why';

/** Where a question is asked from; shown as a chip. */
export interface Place {
  uri: string;
  /** The selection; without it the whole file, which only tells the server where the reader is. */
  range?: Range;
  /** For people: `pricing.py`, or `pricing.py:10-14`. */
  label: string;
}

/** What is asked: words, or `about` what is at `place`. Exactly one of `text` and `about` is there. */
export interface Question {
  text?: string;
  about?: Topic;
  /** For `about: 'diagnostic'`. */
  diagnostics?: { message: string }[];
  place?: Place;
  /** An id of the asker's choice, which follow-ups repeat; without it a new conversation starts. */
  conversation?: string;
}

/** A question with what became of it, as the history of a workspace keeps it. */
export interface Exchange {
  id: string;
  conversation: string;
  /** As it was asked, also where `about` worded it. */
  question: string;
  place?: Place;
  /** Milliseconds since the epoch. */
  askedAt: number;
  outcome: 'answered' | 'cancelled' | 'failed';
  /** Markdown from a language model: untrusted. Whole if answered, else as far as it came. */
  answer: string;
  /** Missing if the model did not think, and in exchanges of earlier sessions that are too old to keep it. */
  thinking?: Thinking;
  /** Why it failed; plain text. */
  error?: string;
  /** `length`: cut off at winnow.answer.maxTokens. */
  finish?: 'eos' | 'stop' | 'length';
  /** Files, or documents of the Git extension where a commit has the lines. */
  citations: Location[];
  /** Empty in exchanges of earlier sessions that are too old to keep them. */
  spans: SpanInfo[];
  stats?: Stats;
  notices: string[];
}

/** Told while an answer is on its way. */
export interface AskListener {
  /** The code that the answer will rest on, best first: before the first piece, and again if more is known. */
  kept(spans: SpanInfo[]): void;
  /** The next piece of the answer. */
  delta(text: string): void;
  /** One line on what is being waited for, such as `reading 512 of 2,900 tokens`. */
  progress(message: string): void;
}

/** Why questions have to wait, or cannot be asked, and what the user can do about it. */
export interface Readiness {
  severity: 'info' | 'warning' | 'error';
  /** One or two sentences, such as `Indexing 120 of 300 files.` */
  message: string;
  /** Questions cannot be asked; else they wait. */
  blocked: boolean;
  /** Commands of the extension or of VS Code, as buttons. */
  actions: { label: string; command: string }[];
}

/** `vscode.Disposable`, `vscode.CancellationToken` and `vscode.Event`, as far as they are needed here. */
export interface Disposable {
  dispose(): unknown;
}
export interface CancellationToken {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: (event: unknown) => unknown): Disposable;
}
export type Event<T> = (listener: (event: T) => unknown) => Disposable;

/** Asks, remembers and opens. */
export interface AskService {
  /**
   * Ask, and add the exchange to the history. Never rejects: what goes wrong is an exchange that `failed`, and
   * cancelling `token` makes one that was `cancelled`, with the answer as far as it came.
   */
  ask(question: Question, listener: AskListener, token: CancellationToken): Promise<Exchange>;

  /** Everything asked in this workspace, oldest first, also in earlier sessions. */
  history(): readonly Exchange[];
  /** Forget one conversation, or all. */
  forget(conversation?: string): Promise<void>;
  readonly onDidChangeHistory: Event<void>;

  /** Where the editor is now: the selection if there is one, else the file; nothing if no file of the workspace is open. */
  place(): Place | undefined;
  readonly onDidChangePlace: Event<void>;

  /** How the server is; undefined when it is ready. */
  readiness(): Readiness | undefined;
  readonly onDidChangeReadiness: Event<void>;

  /** Open a file at its lines. Tells the user if it is gone. */
  openLocation(location: Location): Promise<void>;
  /** Show the spans of an exchange in the spans view. */
  showSpans(exchangeId: string): Promise<void>;
  /** Put text where the editor's cursor is. Tells the user if no editor is open. */
  insert(text: string): Promise<void>;
  copy(text: string): Promise<void>;
  /** A path for people, relative to its workspace folder (with the folder's name if there are several). */
  relative(uri: string): string;
}

/** The view, for commands outside of it. Made by `registerAskView(context, service)` in `src/ask/view.ts`. */
export interface AskView extends Disposable {
  /** Reveal the view and focus the question box, with `text` in it if given. */
  show(text?: string): Promise<void>;
  /** Reveal the view and ask; resolves with the exchange once it is over. */
  ask(question: Question): Promise<Exchange>;
  /** Start a new conversation. */
  clear(): Promise<void>;
}

/** A link the page can show without knowing about paths. */
export interface CitationLink {
  label: string;
  location: Location;
}

/** Code that an answer will rest on, as the page shows it. */
export interface KeptLink extends CitationLink {
  /** Such as `method Cart.total`. */
  what: string;
}

/** An exchange as the page shows it. */
export interface ShownExchange extends Exchange {
  links: CitationLink[];
}

/** From the page to the extension. */
export type PageMessage =
  | { type: 'ready' }
  | { type: 'ask'; text?: string; about?: Topic; place?: Place; conversation?: string }
  | { type: 'stop' }
  | { type: 'open'; location: Location }
  | { type: 'spans'; exchangeId: string }
  | { type: 'copy'; text: string }
  | { type: 'insert'; text: string }
  /** Open a web address, after VS Code asked the user. */
  | { type: 'browse'; address: string }
  /** Run the action of the shown readiness with this index. */
  | { type: 'act'; index: number }
  | { type: 'forget'; conversation?: string };

/** From the extension to the page. */
export type HostMessage =
  | { type: 'history'; exchanges: ShownExchange[] }
  | { type: 'place'; place?: Place }
  | { type: 'readiness'; readiness?: Readiness }
  | { type: 'started'; question: string; place?: Place; conversation: string }
  | { type: 'kept'; links: KeptLink[] }
  | { type: 'delta'; text: string }
  | { type: 'progress'; message: string }
  | { type: 'finished'; exchange: ShownExchange }
  | { type: 'focus'; text?: string }
  | { type: 'new' };
