import { GrowingMarkdown } from './growing';
import { morph } from './morph';
import { nodes } from './nodes';

/** Drawing takes at most a ninth of the time, however hard an answer is to read. */
const REST = 8;

/** An answer on its way: keeps the children of an element in step with the text so far. */
export class StreamedMarkdown {
  private readonly growing = new GrowingMarkdown();
  private settled = 0;
  private text = '';
  private restsUntil = 0;

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
    const began = performance.now();
    if (!whole && (!this.growing.due || began < this.restsUntil)) return false;
    this.draw(whole);
    const ended = performance.now();
    this.restsUntil = ended + REST * (ended - began);
    return true;
  }

  private draw(whole: boolean): void {
    const { final, open } = this.growing.read(whole);
    const done = nodes(final);
    morph(this.element, this.settled, [...done, ...nodes(open)]);
    this.settled += done.length;
  }
}
