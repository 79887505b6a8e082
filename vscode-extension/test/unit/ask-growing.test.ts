import { Lexer, type Token } from 'marked';
import { describe, expect, test } from 'vitest';
import { GrowingMarkdown } from '../../src/ask/webview/markdown/growing';

const ANSWER = `# Title
Text that
goes on, with *emphasis* and a [link](a.py#L3).

1. first

2. second
   more of it

   - inner
#hashtag, no heading

| a | b |
|---|--:|
| 1 | 2 |

Setext
===

\`\`\`python
def f():

    return 1
\`\`\`
> quote
lazy

<!-- a comment

that spans blocks -->
- [ ] open
- [x] done

    indented

    code

[label]: https://example.org
See [label].
`;

/** What was read, piece by piece, as the tokens' types and sources. */
function grown(pieces: string[]): { tokens: [string, string][]; lexed: number; reads: number } {
  const growing = new GrowingMarkdown();
  const tokens: Token[] = [];
  let reads = 0;
  for (const piece of pieces) {
    growing.append(piece);
    if (!growing.due) continue;
    tokens.push(...growing.read().final);
    reads += 1;
  }
  const { final } = growing.read(true);
  return { tokens: plain([...tokens, ...final]), lexed: growing.lexed, reads };
}

function plain(tokens: Token[]): [string, string][] {
  return tokens.filter(({ type }) => type !== 'space').map(({ type, raw }) => [type, raw.trimEnd()]);
}

function cut(text: string, length: (at: number) => number): string[] {
  const pieces = [];
  for (let at = 0; at < text.length; at += length(at)) pieces.push(text.slice(at, at + length(at)));
  return pieces;
}

describe('Markdown that grows', () => {
  test.each([1, 2, 3, 5, 7, 16, 64, 10_000])('comes out as the whole text does, in pieces of %i', (size) => {
    expect(grown(cut(ANSWER, () => size)).tokens).toEqual(plain(new Lexer().lex(ANSWER)));
  });

  test('comes out as the whole text does, in pieces of many sizes', () => {
    for (let seed = 1; seed < 200; seed += 1) {
      const size = (at: number): number => 1 + ((at * 2654435761 + seed * 40503) >>> 7) % 9;
      expect(grown(cut(ANSWER, size)).tokens, `seed ${seed}`).toEqual(plain(new Lexer().lex(ANSWER)));
    }
  });

  test('takes line ends of every kind, also cut in half', () => {
    const { tokens } = grown(cut(ANSWER.replaceAll('\n', '\r\n'), () => 1));
    expect(tokens).toEqual(plain(new Lexer().lex(ANSWER)));
  });

  test('never changes what is final', () => {
    const growing = new GrowingMarkdown();
    let read = '';
    for (const piece of cut(ANSWER, () => 3)) {
      growing.append(piece);
      read += growing.read().final.map(({ raw }) => raw).join('');
      expect(ANSWER.startsWith(read)).toBe(true);
    }
  });

  test('an open fence is code while it streams', () => {
    const growing = new GrowingMarkdown();
    growing.append('```python\ndef f');
    expect(growing.read().open).toMatchObject([{ type: 'code', lang: 'python', text: 'def f' }]);
  });

  test('100 KB of paragraphs: work per piece does not grow with the answer', () => {
    const paragraph = 'A sentence that is about as long as sentences are in answers. '.repeat(5) + '\n\n';
    const pieces = (count: number): string[] => cut(paragraph.repeat(count), () => 8);
    const [short, long] = [grown(pieces(33)), grown(pieces(330))];
    expect(long.reads).toBeGreaterThan(9 * short.reads);
    expect(long.lexed / long.reads).toBeLessThan(1.1 * (short.lexed / short.reads));
  });

  test('100 KB in one block: read a bounded number of times', () => {
    const text = '```\n' + 'value = compute(value)\n'.repeat(4500);
    const { lexed, reads } = grown(cut(text, () => 8));
    // Up to 4,096 characters with every piece, then each time it has grown by a thirty-second of itself.
    expect(lexed).toBeLessThan(4096 ** 2 / (2 * 8) + 34 * text.length);
    expect(reads).toBeLessThan(4096 / 8 + 110);
  });

  test('nesting that the lexer cannot take is plain text', () => {
    const growing = new GrowingMarkdown();
    growing.append('>'.repeat(20_000));
    expect(growing.read(true).final).toEqual([{ type: 'plain', raw: '>'.repeat(20_000) }]);
  });
});
