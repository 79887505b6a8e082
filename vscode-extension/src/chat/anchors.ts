/** Makes links of the lines that an answer names, while it streams. */
import type { CitationLink, Location } from '../ask/contract';
import { segments, type Segment } from '../ask/webview/places';

/** Where the text goes. */
interface Sink {
  text(text: string): void;
  anchor(location: Location, label: string): void;
}

/** The end of a text that may be the beginning of a place, or of a fence. */
const UNFINISHED = /[\w./\\:#@+`()[\]–-]{0,260}$/;
const FENCE = '```';

export class Anchors {
  private links: readonly CitationLink[] = [];
  private held = '';
  private inBlock = false;

  constructor(private readonly sink: Sink) {}

  /** The lines to link to. */
  know(links: readonly CitationLink[]): void {
    this.links = links;
  }

  /** The next piece of the answer; a place that is not whole yet waits for the rest. */
  add(piece: string): void {
    const text = this.held + piece;
    const whole = text.length - (UNFINISHED.exec(text)?.[0].length ?? 0);
    this.held = text.slice(whole);
    this.write(text.slice(0, whole));
  }

  end(): void {
    this.write(this.held);
    this.held = '';
  }

  private write(text: string): void {
    for (const [index, part] of text.split(FENCE).entries()) {
      if (index > 0) {
        this.sink.text(FENCE);
        this.inBlock = !this.inBlock;
      }
      for (const segment of this.inBlock ? [{ text: part }] : unquoted(segments(part, { links: this.links, kept: [] }))) this.tell(segment);
    }
  }

  private tell({ text, location }: Segment): void {
    if (location !== undefined) this.sink.anchor(location, text);
    else if (text !== '') this.sink.text(text);
  }
}

/** Without backticks around places; a place that is the target of a link stays text. */
function unquoted(found: readonly Segment[]): Segment[] {
  const parts = found.map((part, index) => (found[index - 1]?.text.endsWith('](') ? { text: part.text } : part));
  const isQuoted = (index: number): boolean =>
    parts[index]?.location !== undefined && parts[index - 1]?.text.endsWith('`') === true && parts[index + 1]?.text.startsWith('`') === true;
  return parts.map((part, index) => {
    if (part.location !== undefined) return part;
    return { text: part.text.slice(isQuoted(index - 1) ? 1 : 0, isQuoted(index + 1) ? -1 : undefined) };
  });
}
