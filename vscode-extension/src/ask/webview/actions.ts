import type { PageMessage, Place, QuestionWords, Topic } from '../contract';
import type { Announcer } from './announcer';
import { targetOf } from './linking';
import { svg } from './dom';
import { withLinks } from './markdown/copied';
import type { Composer } from './parts/composer';
import { askedPlace, lastTyped, shownExchanges, shownRunning, type PageEvent, type PageState } from './state';

const DONE_MS = 1500;

/** The parts of the page that actions use. */
export interface Page {
  readonly state: PageState;
  readonly composer: Composer;
  readonly announcer: Announcer;
  dispatch(event: PageEvent): void;
  drawNow(event: PageEvent): void;
  tell(message: PageMessage): void;
  focusHistory(open: boolean): void;
  redraw(element: Element): void;
}

/** The actions of buttons, links and keys. Elements name their action in `data-action`. */
export class Actions {
  constructor(private readonly page: Page, body: HTMLElement) {
    body.addEventListener('click', (event) => { this.click(event); });
    page.composer.element.addEventListener('submit', (event) => { event.preventDefault(); });
    page.composer.box.addEventListener('keydown', (event) => { this.typed(event); });
    body.addEventListener('keydown', (event) => { if (event.key === 'Escape') this.escape(event); });
  }

  private click(event: Event): void {
    const element = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-action]') : null;
    if (!element) return;
    event.preventDefault();
    event.stopPropagation();
    this.does[element.dataset.action ?? '']?.(element);
  }

  private readonly does: Record<string, (element: HTMLElement) => void> = {
    'send': () => { this.send(); },
    'stop': () => { this.stop(); },
    'suggest': ({ dataset: { text, about } }) => {
      if (about === undefined) this.ask({ text }, undefined);
      else this.ask({ about: about as Topic }, askedPlace(this.page.state));
    },
    'unqueue': ({ dataset: { index } }) => { this.page.tell({ type: 'unqueue', index: Number(index) }); },
    'choose-model': () => { this.page.tell({ type: 'choose-model' }); },
    'again': (element) => { this.again(element); },
    'open-history': () => { this.page.focusHistory(true); },
    'close-history': () => { this.page.focusHistory(false); },
    'show': ({ dataset: { conversation = '' } }) => { this.show(conversation); },
    'forget': ({ dataset: { conversation = '' } }) => { this.page.tell({ type: 'forget', conversation }); },
    'forget-all': () => { this.page.tell({ type: 'forget' }); },
    'drop': ({ dataset: { part } }) => { this.page.dispatch({ type: 'drop', part: part as 'file' | 'selection' }); },
    'add': ({ dataset: { part } }) => { this.page.dispatch({ type: 'add', part: part as 'file' | 'selection' }); },
    'open': (element) => {
      const location = targetOf(element);
      if (location) this.page.tell({ type: 'open', location });
    },
    'more': (element) => { this.page.redraw(element); },
    'setting': ({ dataset: { name = '' } }) => { this.page.tell({ type: 'setting', name }); },
    'browse': ({ dataset: { address = '' } }) => { this.page.tell({ type: 'browse', address }); },
    'spans': (element) => { this.page.tell({ type: 'spans', exchangeId: turnOf(element) }); },
    'copy-answer': (element) => { const exchange = this.exchange(element);
      if (exchange) this.copy(element, withLinks(exchange)); },
    'copy-code': (element) => { this.copy(element, codeBeside(element)); },
    'insert-code': (element) => { this.page.tell({ type: 'insert', text: codeBeside(element) }); },
    'act': ({ dataset: { index } }) => { this.page.tell({ type: 'act', index: Number(index) }); },
  };

  private typed(event: KeyboardEvent): void {
    if (!event.isComposing && !event.shiftKey && this.page.composer.completions.typed(event.key)) {
      event.preventDefault();
      event.stopPropagation();
    } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.send();
    } else if (event.key === 'ArrowUp' && this.page.composer.box.value === '') {
      this.page.composer.write(lastTyped(this.page.state));
    }
  }

  /** Leave the history, or else stop the answer. */
  private escape(event: KeyboardEvent): void {
    if (this.page.state.historyOpen) this.page.focusHistory(false);
    else if (shownRunning(this.page.state)) this.stop();
    else return;
    event.preventDefault();
  }

  private send(): void {
    const { composer, state } = this.page;
    if (composer.text === '') return;
    if (state.readiness?.blocked) this.page.announcer.say(state.readiness.message);
    else {
      if (state.running) this.page.announcer.say('Asked next.');
      this.ask({ text: composer.text }, askedPlace(state));
      composer.write('');
      composer.focus();
    }
  }

  private ask(words: QuestionWords, place: Place | undefined): void {
    this.page.tell({ type: 'ask', ...words, place, conversation: this.page.state.shown });
  }

  private again(element: HTMLElement): void {
    const exchange = this.exchange(element);
    if (exchange && !this.page.state.running) this.ask(exchange.asked, exchange.place);
  }

  private show(conversation: string): void {
    this.page.drawNow({ type: 'show', conversation });
    this.page.composer.focus();
  }

  private stop(): void {
    this.page.tell({ type: 'stop' });
    this.page.composer.focus();
  }

  private copy(button: HTMLElement, text: string): void {
    this.page.tell({ type: 'copy', text });
    this.page.announcer.say('Copied.');
    button.replaceChildren(svg('check'));
    setTimeout(() => { button.replaceChildren(svg('copy')); }, DONE_MS);
  }

  private exchange(element: HTMLElement): ReturnType<typeof shownExchanges>[number] | undefined {
    return shownExchanges(this.page.state).find((one) => one.id === turnOf(element));
  }
}

function turnOf(element: Element): string {
  return element.closest<HTMLElement>('.turn')?.dataset.id ?? '';
}

function codeBeside(element: Element): string {
  return element.closest('.code')?.querySelector('code')?.textContent ?? '';
}
