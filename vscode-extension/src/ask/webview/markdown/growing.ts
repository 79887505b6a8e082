import { Lexer, type Links, type Token } from 'marked';

/** Blocks that are final now, and those after them that may still change. */
export interface Growth {
  final: Token[];
  open: Token[];
}

const FULL_RATE = 4096;
const SHARE = 32;

/**
 * Markdown that grows at its end, cut into top-level blocks. All blocks but the last one or two are final: no later text
 * can change them, so they are parsed once. The work for a piece of text does not grow with the answer.
 */
export class GrowingMarkdown {
  /** Characters given to the lexer so far, a measure of the work. */
  lexed = 0;
  private tail = '';
  private unread = 0;
  private readonly links = noLinks();

  /** Add text for the next `read`. */
  append(text: string): void {
    this.tail += text;
    this.unread += text.length;
  }

  /** Whether to read now: always for a short last block, otherwise once it has grown by a fair share of itself. */
  get due(): boolean {
    return this.unread > 0 && (this.tail.length <= FULL_RATE || this.unread * SHARE >= this.tail.length);
  }

  /** Parse the text that is not final. `whole`: no text will follow, everything is final. */
  read(whole = false): Growth {
    // A carriage return at the end may be half of a line break.
    const held = !whole && this.tail.endsWith('\r') ? '\r' : '';
    const text = this.tail.slice(0, this.tail.length - held.length).replace(/\r\n?/g, '\n');
    this.unread = 0;
    this.lexed += text.length;
    const tokens = lex(text, this.links);
    const open = whole ? tokens.length : firstOpen(tokens, text);
    const final = tokens.slice(0, open);
    this.tail = text.slice(lengthOf(final)) + held;
    return { final, open: tokens.slice(open) };
  }
}

/** Tokens of a text. A text that the lexer cannot take (nesting of thousands of levels) is one block of plain text. */
export function lex(text: string, links = noLinks()): Token[] {
  try {
    const lexer = new Lexer({ gfm: true });
    lexer.tokens.links = links;
    return lexer.lex(text);
  } catch {
    return [{ type: 'plain', raw: text }];
  }
}

/**
 * The index of the first block that later text may change: the last one, or the one before it while the last one's
 * first line is incomplete (`2` after a numbered list may become `2.`, which belongs to the list).
 */
function firstOpen(tokens: Token[], text: string): number {
  const blocks = starts(tokens, text);
  const last = blocks.at(-1);
  if (last === undefined) return 0;
  const whole = text.includes('\n', last.offset);
  return whole ? last.index : (blocks.at(-2)?.index ?? 0);
}

/** The starts of blocks other than space, up to the first whose source is not found in its place. */
function starts(tokens: Token[], text: string): { index: number; offset: number }[] {
  const found = [];
  let offset = 0;
  for (const [index, token] of tokens.entries()) {
    if (!text.startsWith(token.raw, offset)) break;
    if (token.type !== 'space') found.push({ index, offset });
    offset += token.raw.length;
  }
  return found;
}

/** Without a prototype, because an answer chooses the names. */
function noLinks(): Links {
  return Object.create(null) as Links;
}

function lengthOf(tokens: Token[]): number {
  return tokens.reduce((sum, token) => sum + token.raw.length, 0);
}
