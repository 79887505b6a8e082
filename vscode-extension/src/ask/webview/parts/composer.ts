import { lastLine, lineLabel } from '../../../lines';
import { counted } from '../../../figures';
import type { Range } from '../../contract';
import { h, iconButton, svg } from '../dom';
import { Completions } from './completions';
import { expected, fileOf, placeKey, shownExchanges, type PageState } from '../state';

/** The question box, with the question's place as chips above it. */
export class Composer {
  readonly box = h('textarea', { rows: '1', dir: 'auto', 'aria-label': 'Question', spellcheck: 'true' });
  private readonly chips = h('ul', { class: 'chips', 'aria-label': 'What the question is about' });
  private readonly send = iconButton('send', 'Ask (Enter)', 'send');
  private readonly stop = iconButton('stop', 'Stop the answer (Escape)', 'stop');
  private readonly queue = h('ul', { class: 'queue', 'aria-label': 'Next' });
  private readonly model = h('button', { type: 'button', class: 'link', 'data-action': 'choose-model' });
  private readonly cost = h('span');
  readonly completions = new Completions(this.box);
  readonly element = h('form', { class: 'composer', 'aria-label': 'Ask' }, this.queue, this.chips, this.completions.element,
    h('div', { class: 'box' }, this.box, this.send, this.stop), h('p', { class: 'before' }, this.model, this.cost));
  private shownChips: string | undefined;
  private shownQueue: PageState['queued'] = [];

  constructor() {
    this.box.addEventListener('input', () => { this.enable(); });
  }

  update(state: PageState): void {
    const busy = state.running !== undefined;
    const focused = document.activeElement;
    this.stop.hidden = !busy;
    this.send.hidden = busy;
    if (focused instanceof HTMLElement && focused.hidden && this.element.contains(focused)) this.box.focus();
    this.box.placeholder = shownExchanges(state).length > 0 ? 'Ask a follow-up' : 'Ask about this repository';
    this.send.dataset.blocked = String(state.readiness?.blocked === true);
    this.enable();
    this.updateChips(state);
    this.updateQueue(state.queued);
    this.tellCost(state);
  }

  /** The model, and what an answer of it cost lately. */
  private tellCost(state: PageState): void {
    const { model } = state;
    const cost = expected(state);
    this.model.hidden = model === undefined;
    this.model.textContent = shortName(model ?? '');
    this.model.title = `${model ?? ''} answers. Choose another model`;
    this.cost.textContent = cost ? `${model === undefined ? '' : ' · '}${counted(cost.places, 'place')} · about ${Math.max(1, Math.round(cost.seconds))} s` : '';
  }

  private updateQueue(questions: PageState['queued']): void {
    if (this.shownQueue === questions) return;
    this.shownQueue = questions;
    this.queue.replaceChildren(...questions.map(waiting));
  }

  get text(): string {
    return this.box.value.trim();
  }

  write(text: string): void {
    this.box.value = text;
    this.enable();
  }

  focus(): void {
    this.box.focus();
    this.box.setSelectionRange(this.box.value.length, this.box.value.length);
  }

  private enable(): void {
    this.send.disabled = this.text === '' || this.send.dataset.blocked === 'true';
  }

  private updateChips(state: PageState): void {
    const now = JSON.stringify([state.place, state.withoutFile, state.withoutSelection]);
    if (now === this.shownChips) return;
    this.shownChips = now;
    const focused = this.chips.contains(document.activeElement);
    this.chips.replaceChildren(...chips(state));
    if (focused) this.box.focus();
  }
}

/** The size in a model's name, such as `1.5B`; else the name, or a server's host. */
function shortName(model: string): string {
  const [address = '', name] = model.split('#');
  const known = name === undefined ? address.replace(/^https?:\/\/([^/]*).*/, '$1') : decoded(name);
  return /\d+(?:\.\d+)?[bm](?![a-z])/i.exec(known)?.[0].toUpperCase() ?? known.split('/').at(-1) ?? '';
}

/** A name with its escapes replaced; as it is where they are none. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function waiting(question: string, index: number): Node {
  const drop = iconButton('close', `Do not ask “${question}”`, 'unqueue');
  drop.dataset.index = String(index);
  return h('li', {}, h('span', { dir: 'auto' }, question), drop);
}

function chips(state: PageState): Node[] {
  const { place, withoutFile } = state;
  if (!place) return [];
  const file = fileOf(place).label;
  const name = file.split('/').at(-1) ?? file;
  if (withoutFile) return [h('li', {}, added('file', name, `Ask about ${file}`))];
  const whole = kept('file', name, file);
  return place.range ? [whole, selection(state, place.range)] : [whole];
}

function selection({ place, withoutSelection }: PageState, range: Range): Node {
  const name = `${lastLine(range) > range.start.line ? 'lines' : 'line'} ${lineLabel(range, '–')}`;
  const without = place !== undefined && withoutSelection === placeKey(place);
  return without ? h('li', {}, added('selection', name, `Ask about ${name}`)) : kept('selection', name, `Selection: ${name}`);
}

function kept(part: 'file' | 'selection', name: string, title: string): Node {
  const drop = iconButton('close', `Leave out ${name}`, 'drop');
  drop.dataset.part = part;
  return h('li', { class: 'chip', title }, svg(part), h('span', {}, name), drop);
}

function added(part: 'file' | 'selection', name: string, title: string): Node {
  return h('button', { type: 'button', class: 'chip off', title, 'data-action': 'add', 'data-part': part }, svg('add'), h('span', {}, name));
}
