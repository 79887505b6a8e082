import { h } from '../dom';
import { newNotices, shownExchanges, shownRunning, type PageState, type RunningQuestion } from '../state';
import { TurnView } from './turn';

const NEAR = 48;

/** The turns of the conversation on show. */
export class Log {
  private readonly list = h('div', { class: 'turns' });
  readonly element: HTMLElement;
  private turns = new Map<string, TurnView>();
  private running: TurnView | undefined;
  /** The end stays in sight until the reader scrolls up. */
  private following = true;
  private shown: string | undefined;
  private exchanges: PageState['exchanges'] | undefined;

  /** Shows `before` above the turns. */
  constructor(before: Node) {
    this.element = h('main', {}, before, this.list);
    this.element.addEventListener('scroll', () => { this.following = this.atEnd(); });
    const resized = new ResizeObserver(() => { this.scroll(); });
    resized.observe(this.element);
  }

  update(state: PageState): void {
    const began = this.running === undefined && shownRunning(state) !== undefined;
    if (state.shown !== this.shown) this.clear(state.shown);
    this.settle(state);
    this.follow(shownRunning(state));
    this.list.hidden = state.historyOpen;
    this.following ||= began;
    this.scroll();
  }

  /** Draw the turn with this element anew. */
  redraw(element: Element): void {
    for (const turn of [...this.turns.values(), this.running]) if (turn?.element.contains(element)) turn.redraw();
  }

  private clear(shown: string | undefined): void {
    this.shown = shown;
    this.turns.clear();
    this.running = undefined;
    this.exchanges = undefined;
    this.list.replaceChildren();
  }

  /** Show the finished exchanges. The running turn becomes the finished one. */
  private settle(state: PageState): void {
    if (state.exchanges === this.exchanges) return;
    this.exchanges = state.exchanges;
    const old = this.turns;
    this.turns = new Map();
    for (const exchange of shownExchanges(state)) {
      const notices = newNotices(exchange, state);
      const known = old.get(exchange.id);
      const turn = known ?? this.adopt(state) ?? new TurnView(exchange.title ?? exchange.question, exchange.place);
      if (!known) turn.finish(exchange, notices);
      if (!turn.element.isConnected) this.list.insertBefore(turn.element, this.running?.element ?? null);
      this.turns.set(exchange.id, turn);
    }
    for (const [id, turn] of old) if (!this.turns.has(id)) turn.element.remove();
  }

  private adopt(state: PageState): TurnView | undefined {
    if (shownRunning(state)) return undefined;
    const turn = this.running;
    this.running = undefined;
    return turn;
  }

  private follow(running: RunningQuestion | undefined): void {
    if (!running) return;
    if (!this.running) {
      this.running = new TurnView(running.question, running.place);
      this.list.append(this.running.element);
    }
    this.running.follow(running);
  }

  private scroll(): void {
    if (this.list.hidden || this.list.childElementCount === 0) this.element.scrollTop = 0;
    else if (this.following) this.element.scrollTop = this.element.scrollHeight;
  }

  private atEnd(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    return scrollHeight - scrollTop - clientHeight < NEAR;
  }
}
