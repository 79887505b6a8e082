import type { Place } from '../../contract';
import { h, prose } from '../dom';
import { askedPlace, type PageState } from '../state';
import { content } from './banner';

/** Until the server has made others from the workspace: what any workspace tells, if only that it has no tests. */
const USUAL = ['What does this repository do?', 'How do I run its tests?'];

/** The start of a new conversation: an introduction, and what is to be done first, or questions to begin with. */
export class Welcome {
  private readonly next = h('div');
  readonly element = h('section', { class: 'welcome' },
    h('h2', {}, 'Ask about this repository'),
    h('p', {}, ...prose('Winnow finds the code that matters, and a model answers from it: on this machine, unless `winnow.target` names a server elsewhere.')),
    this.next);
  private shown: string | undefined;

  update(state: PageState): void {
    this.element.hidden = state.historyOpen || state.shown !== undefined;
    const { readiness, starters } = state;
    const place = askedPlace(state);
    const now = JSON.stringify([place, readiness, starters]);
    if (this.shown === now) return;
    this.shown = now;
    if (readiness?.blocked) this.next.replaceChildren(h('div', { class: `first ${readiness.severity}` }, ...content(readiness)));
    else this.next.replaceChildren(h('ul', { 'aria-label': 'Suggestions' }, ...suggested(place, starters.length > 0 ? starters : USUAL)));
  }
}

function suggested(place: Place | undefined, starters: readonly string[]): Node[] {
  const button = (label: string, data: Record<string, string>): Node =>
    h('li', {}, h('button', { type: 'button', class: 'text', 'data-action': 'suggest', ...data }, ...prose(label)));
  if (!place?.range) return starters.map((text) => button(text, { 'data-text': text }));
  return [
    button(`Explain ${place.label}`, { 'data-about': 'code' }),
    button('How is this used?', { 'data-about': 'usage' }),
    button('What would break if this changed?', { 'data-about': 'impact' }),
    button('Why is this so?', { 'data-about': 'why' }),
  ];
}
