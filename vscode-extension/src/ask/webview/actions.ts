import type { Place, Topic } from '../contract';
import type { App } from './app';
import { targetOf } from './linking';
import { svg } from './dom';
import { askedPlace, shownExchanges, shownRunning } from './state';

const DONE_MS = 1500;

/** What buttons, links and keys do. Elements name their action in `data-action`. */
export class Actions {
  constructor(private readonly app: App, body: HTMLElement) {
    body.addEventListener('click', (event) => { this.click(event); });
    app.composer.element.addEventListener('submit', (event) => { event.preventDefault(); });
    app.composer.box.addEventListener('keydown', (event) => { this.typed(event); });
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
    'suggest': ({ dataset: { text, about } }) => { this.ask(text, about as Topic | undefined, askedPlace(this.app.state)); },
    'again': (element) => { this.again(element); },
    'open-history': () => { this.app.focusHistory(true); },
    'close-history': () => { this.app.focusHistory(false); },
    'show': ({ dataset: { conversation = '' } }) => { this.app.drawNow({ type: 'show', conversation }); this.app.composer.focus(); },
    'forget': ({ dataset: { conversation = '' } }) => { this.app.tell({ type: 'forget', conversation }); },
    'forget-all': () => { this.app.tell({ type: 'forget' }); },
    'drop': ({ dataset: { part } }) => { this.app.dispatch({ type: 'drop', part: part as 'file' | 'selection' }); },
    'add': ({ dataset: { part } }) => { this.app.dispatch({ type: 'add', part: part as 'file' | 'selection' }); },
    'open': (element) => { const location = targetOf(element); if (location) this.app.tell({ type: 'open', location }); },
    'browse': ({ dataset: { address = '' } }) => { this.app.tell({ type: 'browse', address }); },
    'spans': (element) => { this.app.tell({ type: 'spans', exchangeId: turnOf(element) }); },
    'copy-answer': (element) => { this.copy(element, this.exchange(element)?.answer ?? ''); },
    'copy-code': (element) => { this.copy(element, codeBeside(element)); },
    'insert-code': (element) => { this.app.tell({ type: 'insert', text: codeBeside(element) }); },
    'act': ({ dataset: { index } }) => { this.app.tell({ type: 'act', index: Number(index) }); },
  };

  private typed(event: KeyboardEvent): void {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.send();
    } else if (event.key === 'ArrowUp' && this.app.composer.box.value === '') {
      this.app.composer.write(shownExchanges(this.app.state).at(-1)?.question ?? '');
    }
  }

  /** Leaves the history, or else stops the answer. */
  private escape(event: KeyboardEvent): void {
    if (this.app.state.historyOpen) this.app.focusHistory(false);
    else if (shownRunning(this.app.state)) this.stop();
    else return;
    event.preventDefault();
  }

  private send(): void {
    const { composer, state } = this.app;
    if (composer.text === '') return;
    if (state.running) this.app.announcer.say('Wait for the answer, or stop it first.');
    else if (state.readiness?.blocked) this.app.announcer.say(state.readiness.message);
    else {
      this.ask(composer.text, undefined, askedPlace(state));
      composer.write('');
      composer.focus();
    }
  }

  private ask(text: string | undefined, about: Topic | undefined, place: Place | undefined): void {
    const { shown } = this.app.state;
    const what = about === undefined ? { text: text ?? '' } : { about };
    this.app.tell({ type: 'ask', ...what, ...(place && { place }), ...(shown !== undefined && { conversation: shown }) });
  }

  private again(element: HTMLElement): void {
    const exchange = this.exchange(element);
    if (exchange && !this.app.state.running) this.ask(exchange.question, undefined, exchange.place);
  }

  private stop(): void {
    this.app.tell({ type: 'stop' });
    this.app.composer.focus();
  }

  private copy(button: HTMLElement, text: string): void {
    this.app.tell({ type: 'copy', text });
    this.app.announcer.say('Copied.');
    button.replaceChildren(svg('check'));
    setTimeout(() => { button.replaceChildren(svg('copy')); }, DONE_MS);
  }

  private exchange(element: HTMLElement): ReturnType<typeof shownExchanges>[number] | undefined {
    return shownExchanges(this.app.state).find((one) => one.id === turnOf(element));
  }
}

function turnOf(element: Element): string {
  return element.closest<HTMLElement>('.turn')?.dataset.id ?? '';
}

function codeBeside(element: Element): string {
  return element.closest('.code')?.querySelector('code')?.textContent ?? '';
}
