import type { HostMessage, PageMessage } from '../contract';
import { Actions } from './actions';
import { Announcer } from './announcer';
import { h } from './dom';
import { narrate } from './narration';
import { Banner } from './parts/banner';
import { Composer } from './parts/composer';
import { Header } from './parts/header';
import { HistoryList } from './parts/history';
import { Log } from './parts/log';
import { Peek } from './parts/peek';
import { Welcome } from './parts/welcome';
import { EMPTY, reduce, type PageEvent, type PageState } from './state';

/** VS Code's interface for the script of a webview. */
export interface Host {
  postMessage(message: PageMessage): void;
  getState(): unknown;
  setState(state: SavedState): void;
}

/** State that survives when the view is hidden and shown again. */
interface SavedState {
  shown?: string;
  draft: string;
  withoutFile: boolean;
}

/** The page: holds the state, and draws it at most once per frame. */
export class App {
  state: PageState;
  readonly composer = new Composer();
  readonly announcer: Announcer;
  private readonly header = new Header();
  private readonly banner = new Banner();
  private readonly welcome = new Welcome();
  private readonly history = new HistoryList();
  private readonly log = new Log(this.welcome.element);
  private readonly peek: Peek;
  private drawsNextFrame = false;

  constructor(private readonly host: Host, body: HTMLElement) {
    const live = h('div', { class: 'visually-hidden', role: 'status', 'aria-live': 'polite' });
    this.announcer = new Announcer(live);
    const { draft, ...kept } = restored(host.getState());
    this.state = { ...EMPTY, ...kept };
    this.composer.write(draft);
    this.log.element.append(this.history.element);
    this.peek = new Peek(this.log.element, (location) => { this.tell({ type: 'peek', location }); });
    body.append(this.header.element, this.log.element, this.banner.element, this.composer.element, this.peek.element, live);
    new Actions(this, body);
    this.composer.box.addEventListener('input', () => {
      this.keep();
      const asked = this.composer.completions.asked();
      if (asked) this.tell({ type: 'complete', ...asked });
    });
    this.draw();
  }

  /** Take a message of the extension. */
  receive(message: HostMessage): void {
    this.dispatch(message);
    if (message.type === 'completions') this.composer.completions.show(message.word, message.items);
    if (message.type === 'peeked') this.peek.show(message.location, message.code);
    if (message.type === 'focus' && message.text !== undefined) this.composer.write(message.text);
    if (message.type === 'focus' || message.type === 'new') this.composer.focus();
  }

  dispatch(event: PageEvent): void {
    const before = this.state;
    this.state = reduce(before, event);
    narrate(before, this.state, event, this.announcer);
    this.drawSoon();
  }

  /** Draw the turn that holds an element anew. */
  redraw(element: Element): void {
    this.log.redraw(element);
  }

  /** Draw now, so that an element can be focused next. */
  drawNow(event: PageEvent): void {
    this.dispatch(event);
    this.draw();
  }

  tell(message: PageMessage): void {
    this.host.postMessage(message);
  }

  focusHistory(open: boolean): void {
    this.drawNow({ type: 'history-open', open });
    if (open) this.history.focus();
    else this.header.focus();
  }

  keep(): void {
    const { shown, withoutFile } = this.state;
    this.host.setState({ draft: this.composer.box.value, withoutFile, shown });
  }

  private drawSoon(): void {
    if (this.drawsNextFrame) return;
    this.drawsNextFrame = true;
    requestAnimationFrame(() => {
      this.drawsNextFrame = false;
      this.draw();
    });
  }

  private draw(): void {
    const { state } = this;
    this.header.update(state);
    this.welcome.update(state);
    this.history.update(state);
    this.log.update(state);
    this.banner.update(state);
    this.composer.update(state);
    this.keep();
  }
}

function restored(kept: unknown): SavedState {
  const { shown, draft, withoutFile } = (kept ?? {}) as Partial<SavedState>;
  return { draft: draft ?? '', withoutFile: withoutFile ?? false, shown };
}
