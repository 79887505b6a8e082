import type { Place } from '../../contract';
import { h, prose } from '../dom';
import { askedPlace, type PageState } from '../state';

/** The start of a new conversation: an introduction, and questions to begin with. */
export class Welcome {
  private readonly suggestions = h('ul', { 'aria-label': 'Suggestions' });
  readonly element = h('section', { class: 'welcome' },
    h('h2', {}, 'Ask about this repository'),
    h('p', {}, ...prose('Winnow finds the code that matters, and a model answers from it: on this machine, unless `winnow.target` names a server elsewhere.')),
    this.suggestions);
  private shown: string | undefined;

  update(state: PageState): void {
    this.element.hidden = state.historyOpen || state.shown !== undefined;
    const place = askedPlace(state);
    const now = JSON.stringify([place, state.readiness?.blocked]);
    if (this.shown === now) return;
    this.shown = now;
    this.suggestions.replaceChildren(...suggested(place, state.readiness?.blocked === true));
  }
}

function suggested(place: Place | undefined, disabled: boolean): Node[] {
  const button = (label: string, data: Record<string, string>): Node =>
    h('li', {}, h('button', { type: 'button', class: 'text', 'data-action': 'suggest', disabled: disabled ? '' : undefined, ...data }, label));
  const words = (text: string): Node => button(text, { 'data-text': text });
  if (!place) return [words('What does this repository do?'), words('Where does it start?'), words('How is it tested?')];
  if (!place.range) return [words('What does this repository do?'), words(`What is ${place.label} for?`), words('How is it tested?')];
  return [
    button(`Explain ${place.label}`, { 'data-about': 'code' }),
    button('How is this used?', { 'data-about': 'usage' }),
    button('What would break if this changed?', { 'data-about': 'impact' }),
    button('Why is this so?', { 'data-about': 'why' }),
  ];
}
