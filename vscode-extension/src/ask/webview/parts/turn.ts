import { progressShare, thoughtFor } from '../../../figures';
import type { KeptLink, Place, ShownExchange, Thinking } from '../../contract';
import { h, prose, svg } from '../dom';
import { linkPlaces, placeLink } from '../linking';
import { StreamedMarkdown } from '../markdown/streamed';
import type { RunningQuestion } from '../state';
import { footer } from './footer';

const FEW = 5;
const MOST_KEPT = 8;
const NONE: readonly KeptLink[] = [];

/** A question and its answer, while it is written and afterwards. */
export class TurnView {
  private readonly waiting = h('div', { class: 'waiting' });
  private readonly kept = h('div', { class: 'kept' });
  private readonly thought = h('div', { class: 'thought' });
  private readonly answer = h('div', { class: 'answer' });
  private readonly after = h('div', { class: 'after' });
  readonly element: HTMLElement;
  private streamed = new StreamedMarkdown(this.answer);
  private shownWait: string | undefined;
  private shownKept = NONE;

  constructor(question: string, place: Place | undefined) {
    this.element = h('article', { class: 'turn' }, asked(question, place), this.waiting, this.kept, this.thought, this.answer, this.after);
    this.element.ariaBusy = 'true';
  }

  /** Show an unfinished answer. */
  follow({ kept, answer, progress }: RunningQuestion): void {
    this.wait(answer === '' ? progress || 'Asking' : undefined);
    this.keep(answer === '' ? kept : NONE);
    this.streamed.follow(answer);
    this.streamed.render();
  }

  /** Show the finished exchange. */
  finish(exchange: ShownExchange): void {
    this.wait(undefined);
    this.keep(NONE);
    this.element.ariaBusy = null;
    this.element.dataset.id = exchange.id;
    this.question(exchange);
    this.thought.replaceChildren(...(exchange.thinking ? [folded(exchange.thinking)] : []));
    this.complete(exchange.answer);
    linkPlaces(this.answer, exchange);
    this.after.replaceChildren(...problems(exchange), ...sources(exchange), footer(exchange));
  }

  /** The server may have worded the question. */
  private question({ question }: ShownExchange): void {
    const heading = this.element.querySelector('h2');
    if (heading && heading.textContent !== question) heading.textContent = question;
  }

  private complete(answer: string): void {
    if (!this.streamed.follow(answer)) {
      this.answer.replaceChildren();
      this.streamed = new StreamedMarkdown(this.answer);
      this.streamed.follow(answer);
    }
    this.streamed.render(true);
  }

  /** Redrawn only if it changed, because a link that is replaced while it is pressed does nothing. */
  private keep(links: readonly KeptLink[]): void {
    if (this.shownKept === links) return;
    this.shownKept = links;
    this.kept.replaceChildren(...keptRows(links));
  }

  private wait(message: string | undefined): void {
    if (this.shownWait === message) return;
    this.shownWait = message;
    this.waiting.replaceChildren(...(message === undefined ? [] : waiting(message)));
  }
}

function asked(question: string, place: Place | undefined): Node {
  const chip = place && placeLink({ uri: place.uri, range: place.range ?? { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } } },
    svg(place.range ? 'selection' : 'file'), h('span', {}, place.label));
  chip?.classList.add('chip');
  return h('div', { class: 'question' }, h('h2', {}, question), chip);
}

function waiting(message: string): Node[] {
  const share = progressShare(message);
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return [
    h('p', {}, svg('loading'), `${text}…`),
    ...(share === undefined ? [] : [h('progress', { value: String(share), max: '1', 'aria-label': text })]),
  ];
}

function folded(thinking: Thinking): Node {
  return h('details', {}, h('summary', {}, thoughtFor(thinking)), h('p', {}, thinking.text));
}

function keptRows(links: readonly KeptLink[]): Node[] {
  if (links.length === 0) return [];
  const rows = links.slice(0, MOST_KEPT).map(({ label, location, what }) =>
    h('li', {}, placeLink(location, label), h('span', {}, what)));
  const more = links.length > MOST_KEPT ? h('p', {}, `and ${links.length - MOST_KEPT} more`) : undefined;
  return [h('section', { class: 'sources', 'aria-label': 'Kept code' }, h('ul', {}, ...rows), more)];
}

/** Remarks on an answer: why it is missing or incomplete, and the server's notices. */
function problems({ outcome, error, answer, finish, notices }: ShownExchange): Node[] {
  const lines: Node[] = [];
  if (outcome === 'failed') lines.push(note('error', error ?? 'The question failed.'));
  if (outcome === 'cancelled') lines.push(note('info', answer ? 'Stopped here.' : 'Stopped before the answer began.'));
  if (outcome === 'answered' && answer.trim() === '') lines.push(note('info', 'The model gave no answer. Try other words.'));
  if (finish === 'length') lines.push(note('warning', 'Cut off here: raise the setting `winnow.maxTokens` for longer answers.'));
  return [...lines, ...notices.map((notice) => note('info', notice))];
}

function note(kind: 'info' | 'warning' | 'error', text: string): Node {
  return h('p', { class: `note ${kind}`, role: kind === 'error' ? 'alert' : undefined }, svg(kind), h('span', {}, ...prose(text)));
}

function sources({ links }: ShownExchange): Node[] {
  if (links.length === 0) return [];
  const items = links.map(({ label, location }) => h('li', {}, placeLink(location, label)));
  const rest = items.slice(FEW);
  const more = rest.length === 0 ? undefined : h('details', {}, h('summary', {}, `${rest.length} more`), h('ul', {}, ...rest));
  return [h('section', { class: 'sources', 'aria-label': 'Sources' }, h('h3', {}, 'Sources'), h('ul', {}, ...items.slice(0, FEW)), more)];
}
