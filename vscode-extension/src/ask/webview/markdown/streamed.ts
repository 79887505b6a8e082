import { GrowingMarkdown } from './growing';
import { morph } from './morph';
import { nodes } from './nodes';

/** Drawing takes at most a ninth of the time, however slow an answer is to parse. */
const REST = 8;

/** An answer being written: keeps the children of an element in step with the text so far. */
export class StreamedMarkdown {
  private readonly growing = new GrowingMarkdown();
  private settled = 0;
  private text = '';
  private restsUntil = 0;

  /** `finish` changes new nodes before they are shown; `whole`: no text will follow. */
  constructor(readonly element: HTMLElement, private readonly finish: (nodes: DocumentFragment, whole: boolean) => void) {}

  /** Add the new end of `text`, which the next `render` shows. False if it does not continue the last one. */
  follow(text: string): boolean {
    if (!text.startsWith(this.text)) return false;
    this.growing.append(text.slice(this.text.length));
    this.text = text;
    return true;
  }

  /** Show the new text, unless it is better to wait for more. True if something was shown. */
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
    const done = this.made(nodes(final), true);
    morph(this.element, this.settled, [...done, ...this.made(nodes(open), whole)]);
    this.settled += done.length;
  }

  private made(made: Node[], whole: boolean): Node[] {
    const fragment = document.createDocumentFragment();
    fragment.append(...made);
    this.finish(fragment, whole);
    return [...fragment.childNodes];
  }
}
