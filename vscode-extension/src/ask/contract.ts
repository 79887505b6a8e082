/**
 * What the extension and the page of the Ask view exchange: plain JSON. The page knows only this file. Names and
 * meanings of the data are those of docs/protocol.md.
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

/** Code that the target saw, with its score. */
export interface SpanInfo {
  location: Location;
  /** Log-odds that the best unit in it answers the question. */
  score: number;
  /** Each feature's contribution to the score. */
  features: Record<string, number>;
  tokens: number;
  /** function, method, class_header, imports, top_level, section or block. */
  kind: string;
  /** Qualified; may be empty. */
  name: string;
}

/** A sentence of an answer, `start` to `end` in code points, with the places that hold it, the best first. */
export interface SentenceInfo {
  start: number;
  end: number;
  places: Location[];
  /** The chance that the best place holds it; with it and without places, none does. */
  support?: number;
  /** Names that exist nowhere. */
  unknown: { start: number; end: number }[];
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

/** A reasoning model's thoughts before its answer: untrusted plain text. */
export interface Thinking {
  text: string;
  seconds: number;
  tokens: number;
}

export type Topic = 'code' | 'diagnostic' | 'usage' | 'impact' | 'why';

/** Where a question is asked from; shown as a chip. */
export interface Place {
  uri: string;
  /** The selection; without it the whole file. */
  range?: Range;
  /** For people: `pricing.py`, or `pricing.py:10-14`. */
  label: string;
}

/** Either `text`, or `about` for a question about the code at its place. */
export interface QuestionWords {
  text?: string;
  about?: Topic;
  /** For `about: 'diagnostic'`. */
  diagnostics?: { message: string }[];
}

export interface Question extends QuestionWords {
  place?: Place;
  /** An id of the asker's choice, which follow-ups repeat; without it a new conversation starts. */
  conversation?: string;
}

/** A question and its answer, as the history of a workspace keeps it. */
export interface Exchange {
  id: string;
  conversation: string;
  /** As the user put it, to be asked again. */
  asked: QuestionWords;
  /** As the server worded it. */
  question: string;
  /** Shown instead of `question`, where the server's words are longer than the user's. */
  title?: string;
  place?: Place;
  /** Milliseconds since the epoch. */
  askedAt: number;
  outcome: 'answered' | 'cancelled' | 'failed';
  /** Markdown from a language model: untrusted. Incomplete unless `outcome` is `answered`. */
  answer: string;
  /** Missing if the model did not think; old exchanges lose it. */
  thinking?: Thinking;
  /** Why it failed; plain text. */
  error?: string;
  /** `length`: cut off at winnow.maxTokens. */
  finish?: 'eos' | 'stop' | 'length';
  /** Files, or documents of the Git extension for lines of a commit. */
  citations: Location[];
  /** Old exchanges lose them. */
  sentences?: SentenceInfo[];
  /** Old exchanges lose them. */
  spans: SpanInfo[];
  stats?: Stats;
  notices: string[];
}

/** Called while an answer is being written. */
export interface AskListener {
  /** The code that the answer will rest on, best first: before the first piece, and again if more is known than a provisional list. */
  kept(spans: SpanInfo[], provisional?: boolean): void;
  /** The next piece of the answer, and sentences before whose places are known now. */
  delta(text: string, sentences?: SentenceInfo[]): void;
  /** The current stage in one line, such as `reading 512 of 2,900 tokens`. */
  progress(message: string): void;
}

/** Why questions have to wait or cannot be asked, and what the user can do about it. */
export interface Readiness {
  severity: 'info' | 'warning' | 'error';
  /** One or two sentences, such as `Indexing 120 of 300 files.` */
  message: string;
  /** Questions cannot be asked; otherwise they wait. */
  blocked: boolean;
  /** Commands of the extension or of VS Code, as buttons. */
  actions: { label: string; command: string }[];
}

/** A link the page can show without knowing about paths. */
export interface CitationLink {
  label: string;
  location: Location;
}

/** Code that an answer will rest on, as the page shows it. */
export interface KeptLink extends CitationLink {
  /** As in `SpanInfo`; empty for lines that were cited without having been kept whole. */
  kind: string;
  name: string;
}

/** An exchange as the page shows it. */
export interface ShownExchange extends Exchange {
  links: CitationLink[];
  /** The code it rests on, best first. */
  kept: KeptLink[];
}

/** Something that `@` stands for. */
export interface Completion {
  kind: 'file' | 'folder' | 'symbol' | 'changes';
  label: string;
  /** Where it is; may be empty. */
  detail: string;
  /** Replaces `@` and the word after it. */
  text: string;
}

/** From the page to the extension. */
export type PageMessage =
  | { type: 'ready' }
  | ({ type: 'ask' } & Question)
  /** Give up a question that waits for the answer before it. */
  | { type: 'unqueue'; index: number }
  /** Complete the word after `@`; `first`: it begins the question. */
  | { type: 'complete'; word: string; first: boolean }
  /** Ask for the code of a place. */
  | { type: 'peek'; location: Location }
  | { type: 'choose-model' }
  | { type: 'stop' }
  | { type: 'open'; location: Location }
  | { type: 'spans'; exchangeId: string }
  | { type: 'copy'; text: string }
  | { type: 'insert'; text: string }
  /** Open a setting of the extension. */
  | { type: 'setting'; name: string }
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
  | { type: 'kept'; links: KeptLink[]; provisional?: boolean }
  | { type: 'delta'; text: string; sentences?: SentenceInfo[] }
  | { type: 'progress'; message: string }
  | { type: 'finished'; exchange: ShownExchange }
  /** Questions that wait for the answer before them. */
  | { type: 'queued'; questions: string[] }
  /** Questions to begin with. */
  | { type: 'starters'; questions: string[] }
  /** The model that answers. */
  | { type: 'model'; name?: string }
  | { type: 'completions'; word: string; items: Completion[] }
  | { type: 'peeked'; location: Location; code: string }
  | { type: 'focus'; text?: string }
  | { type: 'new' };
