/** Makes links of the lines that an answer names, while it streams. */
import type { CitationLink, Location } from '../ask/contract';
import { pathsOf, segments, type Segment } from '../ask/webview/places';

/** Where the text goes. */
interface Sink {
  text(text: string): void;
  anchor(location: Location, label: string): void;
}

/** The end of a text that may be the beginning of a place in a file with an ordinary name, or of a fence. */
const UNFINISHED = /[\w./\\:#@+`()[\]–-]{0,260}$/;
const FENCE = '```';

export class Anchors {
  private links: readonly CitationLink[] = [];
  /** Paths with characters that few paths have. */
  private odd: readonly string[] = [];
  private held = '';
  private inBlock = false;

  constructor(private readonly sink: Sink) {}

  /** The lines to link to. */
  know(links: readonly CitationLink[]): void {
    this.links = links;
    this.odd = pathsOf(links).filter((path) => unfinished(path) < path.length);
  }

  /** The next piece of the answer; a place that is not whole yet waits for the rest. */
  add(piece: string): void {
    const text = this.held + piece;
    const whole = text.length - unfinished(text, this.odd);
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

/** The length of the end that may be the beginning of a place, or of a fence. */
function unfinished(text: string, odd: readonly string[] = []): number {
  const plain = UNFINISHED.exec(text)?.[0].length ?? 0;
  const longest = Math.max(plain, ...odd.map((path) => begun(text, path, plain)));
  return longest > plain ? longest + unfinished(text.slice(0, -longest)) : plain;
}

/** The length of the end that begins with a path, or with which a path begins; up to `after` characters may follow it. */
function begun(text: string, path: string, after: number): number {
  let start = Math.max(0, text.length - path.length - after);
  while (!path.startsWith(text.slice(start, start + path.length))) start += 1;
  return text.length - start;
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
