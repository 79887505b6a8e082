import type { Completion } from '../../contract';
import { h, svg } from '../dom';
import type { IconName } from '../icons';

const ICONS: Record<Completion['kind'], IconName> = { file: 'file', folder: 'folder', symbol: 'method', changes: 'history' };
const MENTION = /(^|\s)@([\w./-]*)$/;

/** The list of what `@` in the question box stands for. */
export class Completions {
  readonly element = h('ul', { class: 'completions', role: 'listbox', id: 'completions', 'aria-label': 'Completions', hidden: '' });
  private items: readonly Completion[] = [];
  private chosen = 0;

  constructor(private readonly box: HTMLTextAreaElement) {
    box.setAttribute('aria-autocomplete', 'list');
    box.addEventListener('blur', () => { this.close(); });
    this.element.addEventListener('mousedown', (event) => {
      event.preventDefault(); // the box keeps the focus
      const index = [...this.element.children].findIndex((child) => child.contains(event.target as Node));
      if (index >= 0) this.accept(index);
    });
  }

  /** The word to complete, and whether it begins the question; closes the list where there is none. */
  asked(): { word: string; first: boolean } | undefined {
    const match = MENTION.exec(this.box.value.slice(0, this.box.selectionStart));
    if (!match) this.close();
    return match ? { word: match[2] ?? '', first: match.index === 0 && match[1] === '' } : undefined;
  }

  show(word: string, items: readonly Completion[]): void {
    if (this.asked()?.word !== word || document.activeElement !== this.box) return;
    this.items = items;
    this.chosen = 0;
    this.draw();
  }

  /** Take a key while the list is open; true if it was for the list. */
  typed(key: string): boolean {
    if (this.element.hidden) return false;
    if (key === 'ArrowDown' || key === 'ArrowUp') this.move(key === 'ArrowDown' ? 1 : -1);
    else if (key === 'Enter' || key === 'Tab') this.accept(this.chosen);
    else if (key === 'Escape') this.close();
    else return false;
    return true;
  }

  private move(by: number): void {
    this.chosen = (this.chosen + by + this.items.length) % this.items.length;
    this.draw();
  }

  private accept(index: number): void {
    const item = this.items[index];
    const end = this.box.selectionStart;
    const start = end - (this.asked()?.word.length ?? 0) - 1;
    this.close();
    if (item) this.box.setRangeText(`${item.text} `, start, end, 'end');
    this.box.dispatchEvent(new Event('input'));
  }

  private close(): void {
    this.items = [];
    this.draw();
  }

  private draw(): void {
    this.element.hidden = this.items.length === 0;
    this.element.replaceChildren(...this.items.map((item, index) => row(item, index, index === this.chosen)));
    if (this.items.length === 0) this.box.removeAttribute('aria-activedescendant');
    else this.box.setAttribute('aria-activedescendant', `completion-${this.chosen}`);
  }
}

function row({ kind, label, detail }: Completion, index: number, chosen: boolean): Node {
  return h('li', { role: 'option', id: `completion-${index}`, 'aria-selected': String(chosen) },
    svg(ICONS[kind]), h('span', { class: 'name' }, label), h('span', { class: 'where' }, detail));
}
