import type { Location } from '../../contract';
import { h } from '../dom';
import { targetOf } from '../linking';
import { highlighted } from '../markdown/highlight';

const DELAY_MS = 300;

/** Shows the code of a place while the pointer rests on it or it has the focus; not where it only came under the pointer. */
export class Peek {
  private readonly code = h('code');
  readonly element = h('div', { class: 'peek', role: 'tooltip', hidden: '' }, h('pre', { dir: 'ltr' }, this.code));
  private over: HTMLElement | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pointer = '0 0';

  /** `ask` asks for the code of a place. */
  constructor(log: HTMLElement, private readonly ask: (location: Location) => void) {
    log.addEventListener('pointermove', ({ target, screenX, screenY }) => {
      const [before, now] = [this.pointer, `${screenX} ${screenY}`];
      this.pointer = now;
      if (before !== now) this.rest(target);
    });
    log.addEventListener('focusin', ({ target }) => { this.rest(target); });
    for (const type of ['pointerleave', 'focusout', 'scroll']) log.addEventListener(type, () => { this.rest(null); });
  }

  /** Show the code, if the pointer is still there. */
  show(location: Location, code: string): void {
    const at = this.over && targetOf(this.over);
    if (!this.over || JSON.stringify(at) !== JSON.stringify(location)) return;
    this.code.replaceChildren(...highlighted(code, /\w+$/.exec(location.uri)?.[0].toLowerCase() ?? ''));
    this.element.hidden = false;
    const { top, bottom } = this.over.getBoundingClientRect();
    const above = top - this.element.offsetHeight - 2;
    this.element.style.setProperty('top', `${bottom + 2 + this.element.offsetHeight <= innerHeight ? bottom + 2 : Math.max(0, above)}px`);
  }

  private rest(target: EventTarget | null): void {
    const over = target instanceof Element ? (target.closest<HTMLElement>('.places a') ?? undefined) : undefined;
    if (over === this.over) return;
    this.over = over;
    this.element.hidden = true;
    clearTimeout(this.timer);
    const location = over && targetOf(over);
    if (location) this.timer = setTimeout(() => { this.ask(location); }, DELAY_MS);
  }
}
