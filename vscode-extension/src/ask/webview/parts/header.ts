import { h, iconButton } from '../dom';
import { shownExchanges, shownRunning, type PageState } from '../state';

/** The conversation's title, and the button to the history. The button for a new conversation is in the view's title. */
export class Header {
  private readonly title = h('h1', { dir: 'auto' });
  private readonly back = iconButton('back', 'Back to the conversation', 'close-history');
  private readonly history = iconButton('history', 'History', 'open-history');
  readonly element = h('header', {}, this.back, this.title, this.history);

  update(state: PageState): void {
    const title = titleOf(state);
    this.title.textContent = title;
    this.title.title = title;
    this.back.hidden = !state.historyOpen;
    this.history.hidden = state.historyOpen || state.exchanges.length === 0;
    this.element.classList.toggle('visually-hidden', this.back.hidden && this.history.hidden);
  }

  focus(): void {
    (this.back.hidden ? this.history : this.back).focus();
  }
}

function titleOf(state: PageState): string {
  if (state.historyOpen) return 'History';
  const first = shownExchanges(state)[0];
  return first?.title ?? first?.question ?? shownRunning(state)?.question ?? 'New conversation';
}
