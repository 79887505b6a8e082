/** The server's own requests and notifications, as docs/protocol.md describes them. */
import { NotificationType, ProgressType, RequestType, RequestType0, type WorkspaceEdit } from 'vscode-languageclient/node';
import type { Location, Position, Range, SentenceInfo, SpanInfo, Stats, Thinking, Topic } from '../ask/contract';

export interface Turn {
  question: string;
  answer: string;
}

export interface AskParams {
  question?: string;
  about?: Topic;
  diagnostics?: { message: string }[];
  changes?: string;
  textDocument?: { uri: string };
  position?: Position;
  range?: Range;
  conversation?: string;
  earlier?: Turn[];
  supersedes?: boolean;
  budget?: number;
  partialResultToken?: string;
  workDoneToken?: string;
}

export interface SpansResult {
  question: string;
  spans: SpanInfo[];
  stats: Stats;
  notices: string[];
}

export interface AskResult extends SpansResult {
  conversation: string;
  answer: string;
  thinking?: Thinking;
  finish: 'eos' | 'stop' | 'length';
  citations: Location[];
  sentences: SentenceInfo[];
  /** Cited lines that are no longer in the files, only in `commit`. */
  citedBefore?: CitedBefore[];
}

export interface CitedBefore {
  location: Location;
  commit: string;
}

export interface EditParams {
  change: 'fix' | 'document';
  textDocument: { uri: string };
  range: Range;
  diagnostics?: { message: string }[];
  digest?: string;
  /** Proposals turned down so far. */
  attempt?: number;
  workDoneToken?: string;
}

export interface EditResult {
  title: string;
  edit: WorkspaceEdit;
  /** Why it should not be made. */
  rejected?: string;
}

export interface Delta {
  kind: 'delta';
  sequence: number;
  /** Empty while a reasoning model thinks. */
  text: string;
  sentences?: SentenceInfo[];
}

/** Code that an answer will rest on, best first; sent before the first delta, and again whenever more is known. */
export interface Kept {
  /** The question's `partialResultToken`. */
  token: string;
  spans: SpanInfo[];
  /** The drafter has not scored it: the answer may rest on other code. */
  provisional?: boolean;
  /** Expected seconds until the first token; missing if unknown. */
  seconds?: number;
}

export interface ModelState {
  name: string;
  state: 'loading' | 'ready' | 'failed';
  error?: string;
  /** The class of the error. */
  kind?: string;
}

/** The server's report about itself. */
export interface Status {
  state: 'loading' | 'indexing' | 'ready' | 'stale' | 'answering' | 'error';
  message: string;
  index: { done: number; total: number; tokens: number; totalTokens: number; staleFiles: number };
  models: { drafter: ModelState; target: ModelState };
  questions: { running: number; waiting: number };
  memoryBytes: number;
}

export const AskRequest = new RequestType<AskParams, AskResult, { kind?: string }>('winnow/ask');
export const EditRequest = new RequestType<EditParams, EditResult, { kind?: string }>('winnow/edit');
export const SpansRequest = new RequestType<AskParams, SpansResult, { kind?: string }>('winnow/spans');
export const StartersRequest = new RequestType0<{ questions: string[] }, void>('winnow/starters');
export const PrepareRequest = new RequestType<AskParams, { prepared: boolean }, void>('winnow/prepare');
export const SymbolsRequest = new RequestType<{ query: string }, { symbols: { name: string; location: Location }[] }, void>('winnow/symbols');
export const KeptNotification = new NotificationType<Kept>('winnow/kept');
export const StatusNotification = new NotificationType<Status>('winnow/status');
export const DeltaProgress = new ProgressType<Delta>();

/** Commands of the server that this extension sends or answers in its own views. */
export const ServerCommand = {
  ask: 'winnow.ask',
  explain: 'winnow.explain',
  showSpans: 'winnow.showSpans',
  edit: 'winnow.edit',
  reindex: 'winnow.reindex',
  review: 'winnow.review',
  commitMessage: 'winnow.commitMessage',
} as const;

/** Codes of LSP errors that end a request after it was stopped. */
export const STOPPED_CODES: ReadonlySet<number> = new Set([-32800, -32802]);
