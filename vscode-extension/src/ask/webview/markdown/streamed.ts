import { GrowingMarkdown } from './growing';
import { morph } from './morph';
import { nodes } from './nodes';

/** An answer on its way: keeps the children of an element in step with the text so far. */
export class StreamedMarkdown {
  private readonly growing = new GrowingMarkdown();
  private settled = 0;
  private text = '';

  constructor(readonly element: HTMLElement) {}

  /** Add what `text` has more than last time; it shows with the next `render`. False if it is another text. */
  follow(text: string): boolean {
    if (!text.startsWith(this.text)) return false;
    this.growing.append(text.slice(this.text.length));
    this.text = text;
    return true;
  }

  /** Show what came, unless that is better done with what is still to come. True if something was shown. */
  render(whole = false): boolean {
    if (!whole && !this.growing.due) return false;
    const { final, open } = this.growing.read(whole);
    const done = nodes(final);
    morph(this.element, this.settled, [...done, ...nodes(open)]);
    this.settled += done.length;
    return true;
  }
}
