import { progressShare } from '../../../figures';
import type { Readiness } from '../../contract';
import { h, prose, svg } from '../dom';
import type { PageState } from '../state';

/** The banner above the question box: why questions wait, progress, and buttons. */
export class Banner {
  readonly element = h('section', { class: 'banner', 'aria-label': 'Server', hidden: '' });
  private shown = '';

  /** Hidden while a question waits, whose own progress says why, and where the welcome says it. */
  update({ readiness: now, running, shown, historyOpen }: PageState): void {
    const elsewhere = now?.blocked === true ? shown === undefined && !historyOpen : running !== undefined;
    this.show(elsewhere ? undefined : now);
  }

  private show(readiness: Readiness | undefined): void {
    const now = JSON.stringify(readiness ?? null);
    if (now === this.shown) return;
    this.shown = now;
    this.element.hidden = readiness === undefined;
    if (readiness) this.element.replaceChildren(...content(readiness));
    this.element.className = `banner ${readiness?.severity ?? ''}`;
  }
}

/** What is wrong, with a button for each remedy; the first is the fitting one. */
export function content({ severity, message, actions }: Readiness): Node[] {
  const share = progressShare(message);
  const bar = share === undefined ? [] : [h('progress', { value: String(share), max: '1', 'aria-label': message })];
  const buttons = actions.map(({ label }, index) => h('button', { type: 'button', class: index === 0 ? 'text primary' : 'text', 'data-action': 'act', 'data-index': String(index) }, label));
  return [svg(severity), h('div', {}, h('p', {}, ...prose(message)), ...bar, ...(buttons.length ? [h('p', { class: 'buttons' }, ...buttons)] : []))];
}
