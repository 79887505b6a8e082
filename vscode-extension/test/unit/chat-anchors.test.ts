import { expect, test } from 'vitest';
import { Anchors } from '../../src/chat/anchors';
import { steps } from '../../src/chat/steps';

const range = { start: { line: 9, character: 0 }, end: { line: 20, character: 0 } };
const LINKS = [{ label: 'shop/pricing.py:10-20', location: { uri: 'file:///w/shop/pricing.py', range } }];

/** The parts that come out of an answer in pieces of a size, anchors in angle brackets. */
function told(answer: string, size: number, links = LINKS): string {
  let out = '';
  const anchors = new Anchors({ text: (text) => { out += text; }, anchor: (location, label) => { out += `<${label}=${location.range.start.line + 1}>`; } });
  anchors.know(links);
  for (let at = 0; at < answer.length; at += size) anchors.add(answer.slice(at, at + size));
  anchors.end();
  return out;
}

test.each([
  ['Before all, see shop/pricing.py:12-14.', 'Before all, see <shop/pricing.py:12-14=12>.'],
  ['It is in `pricing.py:15`, and `total` too', 'It is in <pricing.py:15=15>, and `total` too'],
  ['No lines of ours: shop/pricing.py:99 or other.py:12', 'No lines of ours: shop/pricing.py:99 or other.py:12'],
  ['A link [here](shop/pricing.py#L12) stays', 'A link [here](shop/pricing.py#L12) stays'],
  ['```\nshop/pricing.py:12\n```\nshop/pricing.py:12', '```\nshop/pricing.py:12\n```\n<shop/pricing.py:12=12>'],
  ['料金は shop/pricing.py:12 にある', '料金は <shop/pricing.py:12=12> にある'],
])('%j keeps every word, and its places are anchors', (answer, expected) => {
  for (const size of [1, 2, 3, 7, 1000]) expect(told(answer, size)).toBe(expected);
});

test.each(['app/(auth)/login.tsx', 'app/routes/users.$id.tsx', 'app/[id]/page.tsx', 'src/料金/計算.py', 'src/gebühr/preis.ts', 'my own dir/x y.py', "it's, a:b #1/x.py"])('%s is a path', (path) => {
  const links = [{ label: `${path}:10-20`, location: { uri: 'file:///w/x', range } }];
  for (const size of [1, 2, 3, 7, 1000]) {
    expect(told(`It is in ${path}:12-14, \`${path}:15\` and other/${path}:15.`, size, links)).toBe(`It is in <${path}:12-14=12>, <${path}:15=15> and other/${path}:15.`);
    expect(told(`料金は${path} と ${path}:12`, size, links)).toBe(`料金は${path} と <${path}:12=12>`);
  }
});

test('each stage is a step once, however often it counts down', () => {
  const said: string[] = [];
  const tell = steps((step) => said.push(step));
  for (const message of ['searching', 'indexing 3 of 9 files', 'indexing 4 of 9 files', 'reading the prompt, about 9 s', 'reading 5 of 9 tokens, about 8 s', 'answering']) tell(message);
  expect(said).toEqual(['Searching the code', 'Indexing', 'Reading what was found']);
});
