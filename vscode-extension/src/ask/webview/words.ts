/** Finds sentences of Markdown in what is shown of it, by their letters and digits alone. */

export interface Point {
  node: Text;
  offset: number;
}

const WORD = /[\p{L}\p{N}]/u;
const ADDRESS = /\]\([^)\s]*\)/g;
const CLOSING = /^[.!?…。！？)\]"'”’»]+/;
const INLINE = new Set(['A', 'CODE', 'EM', 'STRONG', 'DEL']);

export class ShownWords {
  private readonly points: Point[] = [];
  private readonly text: string;
  private from = 0;

  constructor(nodes: readonly Text[]) {
    const letters: string[] = [];
    for (const node of nodes)
      for (let offset = 0; offset < node.data.length; offset += 1)
        if (WORD.test(node.data.charAt(offset))) {
          letters.push(node.data.charAt(offset));
          this.points.push({ node, offset: offset + 1 });
        }
    this.text = letters.join('');
  }

  /** The end of the last word of a sentence, which stands behind those asked for before; undefined if it is not shown. */
  endOf(sentence: string): Point | undefined {
    const wanted = Array.from(sentence.replace(ADDRESS, ']')).filter((one) => one.length === 1 && WORD.test(one)).join('');
    const at = wanted === '' ? -1 : this.text.indexOf(wanted, this.from);
    if (at < 0) return undefined;
    this.from = at + wanted.length;
    return this.points[this.from - 1];
  }
}

/** Insert elements behind a word and what closes its sentence, outside of inline elements that end there. */
export function insertBehind({ node, offset }: Point, marks: readonly Node[]): void {
  let at: ChildNode = node;
  const rest = CLOSING.exec(node.data.slice(offset))?.[0].length ?? 0;
  if (offset + rest < node.data.length) node.splitText(offset + rest);
  while (at.parentElement && at.nextSibling === null && INLINE.has(at.parentElement.tagName)) at = at.parentElement;
  const next = at.nextSibling;
  const closing = next instanceof Text ? CLOSING.exec(next.data)?.[0].length : undefined;
  if (next instanceof Text && closing !== undefined) {
    if (closing < next.data.length) next.splitText(closing);
    at = next;
  }
  at.after(...marks);
}
