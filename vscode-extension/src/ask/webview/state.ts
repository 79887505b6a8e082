/** The state of the page: every change is `reduce(state, event)`, and the page draws the result. */
import type { HostMessage, KeptLink, Place, Readiness, SentenceInfo, ShownExchange } from '../contract';

/** The question being answered. */
export interface RunningQuestion {
  question: string;
  place?: Place;
  conversation: string;
  /** The code that the answer will rest on, best first; empty until it is known. */
  kept: readonly KeptLink[];
  /** The kept code was chosen by words alone, and will be chosen anew. */
  provisional?: boolean;
  answer: string;
  sentences: readonly SentenceInfo[];
  /** The current stage. */
  progress: string;
}

export interface PageState {
  /** Of all conversations, oldest first. */
  exchanges: readonly ShownExchange[];
  /** The conversation on show; undefined is a new one. */
  shown?: string;
  running?: RunningQuestion;
  /** Where the editor is. */
  place?: Place;
  /** The user removed the file: questions are not about it until it is added again. */
  withoutFile: boolean;
  /** The `placeKey` of a selection that the user removed; another selection counts again. */
  withoutSelection?: string;
  readiness?: Readiness;
  /** Questions that wait for the answer before them. */
  queued: readonly string[];
  /** Questions to begin with; empty until the server has made them. */
  starters: readonly string[];
  /** The name of the model that answers. */
  model?: string;
  /** The last model that had a name; what it costs is told by the answers after this one, if another answered before. */
  measured?: { model: string; after?: string };
  historyOpen: boolean;
}

export type PageEvent =
  | HostMessage
  | { type: 'show'; conversation: string }
  | { type: 'history-open'; open: boolean }
  /** Remove a part of the place from the question, or add it again. */
  | { type: 'drop' | 'add'; part: 'file' | 'selection' };

export const EMPTY: PageState = { exchanges: [], queued: [], starters: [], withoutFile: false, historyOpen: false };

export function reduce(state: PageState, event: PageEvent): PageState {
  switch (event.type) {
    case 'history':
      return settled({ ...state, exchanges: event.exchanges });
    case 'place':
      return withPlace(state, event.place);
    case 'readiness':
      return { ...state, readiness: event.readiness };
    case 'queued':
      return { ...state, queued: event.questions };
    case 'starters':
      return { ...state, starters: event.questions };
    case 'model':
      return withModel(state, event.name);
    case 'completions':
    case 'peeked':
      return state;
    case 'started':
      return started(state, event);
    case 'kept':
      return state.running ? { ...state, running: { ...state.running, kept: event.links, provisional: event.provisional } } : state;
    case 'delta':
      return state.running ? { ...state, running: { ...state.running, answer: state.running.answer + event.text, sentences: [...state.running.sentences, ...(event.sentences ?? [])] } } : state;
    case 'progress':
      return state.running ? { ...state, running: { ...state.running, progress: event.message } } : state;
    case 'finished':
      return finished(state, event.exchange);
    case 'show':
      return { ...state, shown: event.conversation, historyOpen: false };
    case 'new':
      return { ...state, shown: undefined, historyOpen: false };
    case 'history-open':
      return { ...state, historyOpen: event.open };
    case 'focus':
      return { ...state, historyOpen: false };
    case 'drop':
    case 'add':
      return withPart(state, event.part, event.type === 'add');
  }
}

function withModel(state: PageState, model: string | undefined): PageState {
  const { measured, exchanges } = state;
  if (model === undefined || model === measured?.model) return { ...state, model };
  return { ...state, model, measured: { model, after: measured && exchanges.at(-1)?.id } };
}

const RECENT = 5;

/** What the last questions cost here, half of them less: places, and seconds to the first word. */
export function expected({ exchanges, measured: by }: PageState): { places: number; seconds: number } | undefined {
  const own = exchanges.slice(exchanges.findIndex(({ id }) => id === by?.after) + 1);
  const measured = own.filter(({ outcome, stats }) => outcome === 'answered' && stats?.ttft !== undefined).slice(-RECENT);
  const middle = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0; // of two the less: the first has loaded the model
  if (measured.length === 0) return undefined;
  return { places: middle(measured.map(({ kept }) => kept.length)), seconds: middle(measured.map(({ stats }) => stats?.ttft ?? 0)) };
}

/** The finished exchanges on show. */
export function shownExchanges(state: PageState): ShownExchange[] {
  return state.exchanges.filter((exchange) => exchange.conversation === state.shown);
}

/** The last question on show that was typed, or empty. */
export function lastTyped(state: PageState): string {
  return shownExchanges(state).map((exchange) => exchange.asked.text).findLast((text) => text !== undefined) ?? '';
}

/** The notices of an exchange that no earlier one had, but for their figures. */
export function newNotices({ id, notices }: ShownExchange, { exchanges }: PageState): string[] {
  const shape = (notice: string): string => notice.replace(/[\d.,]+/g, '');
  const before = exchanges.slice(0, exchanges.findIndex((one) => one.id === id));
  const told = new Set(before.flatMap((one) => one.notices.map(shape)));
  return notices.filter((notice) => !told.has(shape(notice)));
}

/** The answer being written, if it belongs to the conversation on show. */
export function shownRunning(state: PageState): RunningQuestion | undefined {
  return state.running?.conversation === state.shown ? state.running : undefined;
}

/** The place that a question asked now is about. */
export function askedPlace({ place, withoutFile, withoutSelection }: PageState): Place | undefined {
  if (!place || withoutFile) return undefined;
  return place.range && withoutSelection === placeKey(place) ? fileOf(place) : place;
}

/** The whole file of a place. */
export function fileOf({ uri, label }: Place): Place {
  return { uri, label: label.replace(/:\d+(-\d+)?$/, '') };
}

export function placeKey(place: Place): string {
  return JSON.stringify([place.uri, place.range]);
}

function started(state: PageState, { question, place, conversation }: Extract<HostMessage, { type: 'started' }>): PageState {
  const running = { question, conversation, place, kept: [], answer: '', sentences: [], progress: '' };
  return { ...state, running, shown: conversation, historyOpen: false };
}

function finished(state: PageState, exchange: ShownExchange): PageState {
  const others = state.exchanges.filter((one) => one.id !== exchange.id);
  return { ...state, running: undefined, exchanges: [...others, exchange] };
}

/** Without a conversation on show that is gone. */
function settled(state: PageState): PageState {
  const exists = state.running?.conversation === state.shown || shownExchanges(state).length > 0;
  return exists ? state : { ...state, shown: undefined };
}

function withPlace(state: PageState, place: Place | undefined): PageState {
  const same = place !== undefined && state.withoutSelection === placeKey(place);
  return { ...state, place, withoutSelection: same ? state.withoutSelection : undefined };
}

function withPart(state: PageState, part: 'file' | 'selection', added: boolean): PageState {
  if (part === 'file') return { ...state, withoutFile: !added };
  return { ...state, withoutSelection: added ? undefined : state.place && placeKey(state.place) };
}
