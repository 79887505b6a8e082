import { capitalized, progressShare, thoughtFor } from '../../../figures';
import type { KeptLink, Place, SentenceInfo, ShownExchange, Thinking } from '../../contract';
import { h, prose, svg } from '../dom';
import { Footnotes } from '../footnotes';
import { linkPlaces, numberSentences, placeLink } from '../linking';
import { StreamedMarkdown } from '../markdown/streamed';
import type { RunningQuestion } from '../state';
import { footer } from './footer';
import { KeptPlaces } from './kept';

const NONE: readonly KeptLink[] = [];

/** A question and its answer with the places it rests on, while it is written and afterwards. */
export class TurnView {
  private readonly waiting = h('div', { class: 'waiting' });
  private readonly thought = h('div', { class: 'thought' });
  private readonly answer = h('div', { class: 'answer' });
  private readonly places = new KeptPlaces();
  private readonly after = h('div', { class: 'after' });
  readonly element: HTMLElement;
  private footnotes = new Footnotes(NONE);
  private streamed = this.stream();
  private shownWait: string | undefined;
  private numbered: readonly SentenceInfo[] = [];

  constructor(question: string, place: Place | undefined) {
    this.element = h('article', { class: 'turn' }, asked(question, place), this.waiting, this.thought, this.answer, this.places.element, this.after);
    this.element.ariaBusy = 'true';
  }

  /** Show an unfinished answer. */
  follow({ kept, provisional, answer, sentences, progress }: RunningQuestion): void {
    this.wait(answer === '' ? progress || 'Asking' : undefined);
    if (this.footnotes.kept !== kept) this.footnotes = new Footnotes(kept);
    this.streamed.follow(answer);
    const drawn = this.streamed.render();
    if (drawn || this.numbered !== sentences) numberSentences(this.answer, answer, sentences, this.footnotes);
    this.numbered = sentences;
    this.places.update(this.footnotes, provisional);
  }

  /** Show the finished exchange; `notices` are those of it that were not told before. */
  finish(exchange: ShownExchange, notices: readonly string[]): void {
    this.wait(undefined);
    this.element.ariaBusy = null;
    this.element.dataset.id = exchange.id;
    this.question(exchange);
    this.thought.replaceChildren(...(exchange.thinking ? [folded(exchange.thinking)] : []));
    this.complete(exchange.answer);
    this.cite(exchange);
    this.after.replaceChildren(...problems(exchange), footer(exchange), ...notices.map(notice));
  }

  /** Redraw the places, all of them if the user asked for that. */
  redraw(): void {
    this.places.update(this.footnotes);
  }

  /** The server may have worded the question. */
  private question({ title, question }: ShownExchange): void {
    const heading = this.element.querySelector('h2');
    if (heading) heading.textContent = title ?? question;
  }

  private complete(answer: string): void {
    if (!this.streamed.follow(answer)) {
      this.answer.replaceChildren();
      this.streamed = this.stream();
      this.streamed.follow(answer);
    }
    this.streamed.render(true);
  }

  /** The server has checked the lines that the answer names; some are cited without being named. */
  private cite({ answer, kept, links, sentences = [] }: ShownExchange): void {
    this.footnotes = new Footnotes(kept, links);
    linkPlaces(this.answer, this.footnotes);
    numberSentences(this.answer, answer, sentences, this.footnotes);
    for (const { location } of links) this.footnotes.cite(location);
    this.places.update(this.footnotes);
  }

  private stream(): StreamedMarkdown {
    return new StreamedMarkdown(this.answer, (nodes, whole) => {
      linkPlaces(nodes, this.footnotes, !whole);
    });
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
  return h('div', { class: 'question' }, h('h2', { dir: 'auto' }, question), chip);
}

function waiting(message: string): Node[] {
  const share = progressShare(message);
  const text = capitalized(message);
  return [
    h('p', {}, svg('loading'), `${text}…`),
    ...(share === undefined ? [] : [h('progress', { value: String(share), max: '1', 'aria-label': text })]),
  ];
}

function folded(thinking: Thinking): Node {
  return h('details', {}, h('summary', {}, thoughtFor(thinking)), h('p', { dir: 'auto' }, thinking.text));
}

/** Why an answer is missing or incomplete. */
function problems({ outcome, error, answer, finish }: ShownExchange): Node[] {
  const lines: Node[] = [];
  if (outcome === 'failed') lines.push(note('error', capitalized(error ?? 'The question failed.')));
  if (outcome === 'cancelled') lines.push(note('info', answer ? 'Stopped here.' : 'Stopped before the answer began.'));
  if (outcome === 'answered' && answer.trim() === '') lines.push(note('info', 'The model gave no answer. Try other words.'));
  if (finish === 'length') lines.push(note('warning', 'Cut off here: raise `winnow.maxTokens` for longer answers.'));
  return lines;
}

function note(kind: 'info' | 'warning' | 'error', text: string): Node {
  return h('p', { class: `note ${kind}`, role: kind === 'error' ? 'alert' : undefined }, svg(kind), h('span', {}, ...prose(text)));
}

/** The server's remark, where it does not interrupt. */
function notice(text: string): Node {
  return h('p', { class: 'notice' }, ...prose(capitalized(text)));
}
