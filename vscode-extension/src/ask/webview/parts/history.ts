import { counted } from '../../../figures';
import { ago, conversations, type Conversation } from '../conversations';
import { h, iconButton } from '../dom';
import type { PageState } from '../state';

/** The list of all conversations of the workspace, to open or delete. */
export class HistoryList {
  private readonly search = h('input', { type: 'search', placeholder: 'Search questions and answers', 'aria-label': 'Search the history' });
  private readonly list = h('div');
  readonly element = h('section', { class: 'history', 'aria-label': 'History', hidden: '' }, this.search, this.list);
  private exchanges: PageState['exchanges'] | undefined;
  private running: string | undefined;

  constructor() {
    this.search.addEventListener('input', () => { this.filter(); });
  }

  update(state: PageState): void {
    this.element.hidden = !state.historyOpen;
    if (!state.historyOpen) this.exchanges = undefined;
    else if (this.exchanges !== state.exchanges || this.running !== state.running?.conversation) this.fill(state);
  }

  focus(): void {
    this.search.value = '';
    this.filter();
    this.search.focus();
  }

  private fill(state: PageState): void {
    const had = [...this.element.querySelectorAll('button')].indexOf(document.activeElement as HTMLButtonElement);
    this.exchanges = state.exchanges;
    this.running = state.running?.conversation;
    const all = conversations(state.exchanges);
    const items = all.map((one) => item(one, one.id === state.shown));
    const forget = h('button', { type: 'button', class: 'text', 'data-action': 'forget-all' }, 'Delete all…');
    this.list.replaceChildren(...(items.length ? [h('ul', {}, ...items), h('p', { class: 'buttons' }, forget)] : [h('p', { class: 'none' }, 'No questions yet.')]));
    if (state.running) this.list.prepend(runningItem(state.running));
    this.filter();
    this.refocus(had);
  }

  /** Show the conversations that have all of the words. */
  private filter(): void {
    const words = this.search.value.toLowerCase().split(/\s+/);
    const text = (id: string | undefined): string => (this.exchanges ?? []).filter((one) => one.conversation === id).map(({ title, question, answer }) => `${title ?? question} ${answer}`).join(' ').toLowerCase();
    for (const item of this.list.querySelectorAll('li')) {
      const found = text(item.querySelector<HTMLElement>('.conversation')?.dataset.conversation);
      item.hidden = !words.every((word) => found.includes(word));
    }
  }

  /** After a deletion the focus keeps its position in the list. */
  private refocus(index: number): void {
    const buttons = this.element.querySelectorAll('button');
    if (index >= 0) buttons[Math.min(index, buttons.length - 1)]?.focus();
  }
}

function item({ id, title, questions, askedAt }: Conversation, current: boolean): Node {
  const open = h('button', { type: 'button', class: 'conversation', 'data-action': 'show', 'data-conversation': id, 'aria-current': current ? 'true' : undefined },
    h('span', { class: 'name', dir: 'auto' }, title), h('span', { class: 'detail' }, `${ago(askedAt, Date.now())} · ${counted(questions, 'question')}`));
  const forget = iconButton('trash', `Delete “${title}”`, 'forget');
  forget.dataset.conversation = id;
  return h('li', {}, open, forget);
}

function runningItem({ conversation, question }: { conversation: string; question: string }): Node {
  return h('button', { type: 'button', class: 'conversation', 'data-action': 'show', 'data-conversation': conversation },
    h('span', { class: 'name' }, question), h('span', { class: 'detail' }, 'Being answered'));
}
