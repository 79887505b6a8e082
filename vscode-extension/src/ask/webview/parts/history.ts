import { counted } from '../../../figures';
import { ago, conversations, type Conversation } from '../conversations';
import { h, iconButton } from '../dom';
import type { PageState } from '../state';

/** The list of all conversations of the workspace, to open or delete. */
export class HistoryList {
  readonly element = h('section', { class: 'history', 'aria-label': 'History', hidden: '' });
  private exchanges: PageState['exchanges'] | undefined;
  private running: string | undefined;

  update(state: PageState): void {
    this.element.hidden = !state.historyOpen;
    if (!state.historyOpen) this.exchanges = undefined;
    else if (this.exchanges !== state.exchanges || this.running !== state.running?.conversation) this.fill(state);
  }

  focus(): void {
    this.element.querySelector('button')?.focus();
  }

  private fill(state: PageState): void {
    const had = [...this.element.querySelectorAll('button')].indexOf(document.activeElement as HTMLButtonElement);
    this.exchanges = state.exchanges;
    this.running = state.running?.conversation;
    const all = conversations(state.exchanges);
    const items = all.map((one) => item(one, one.id === state.shown));
    const forget = h('button', { type: 'button', class: 'text', 'data-action': 'forget-all' }, 'Delete all…');
    this.element.replaceChildren(...(items.length ? [h('ul', {}, ...items), h('p', { class: 'buttons' }, forget)] : [h('p', { class: 'none' }, 'No questions yet.')]));
    if (state.running) this.element.prepend(runningItem(state.running));
    this.refocus(had);
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
