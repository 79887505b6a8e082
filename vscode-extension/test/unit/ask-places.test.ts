import { describe, expect, test } from 'vitest';
import type { CitationLink, KeptLink, Location } from '../../src/ask/contract';
import { shownExchange } from '../../src/ask/links';
import { Footnotes } from '../../src/ask/webview/footnotes';
import { locate, segments, webAddress } from '../../src/ask/webview/places';

const URI = 'file:///repo/shop/pricing.py';

function lines(first: number, last = first, uri = URI): Location {
  return { uri, range: { start: { line: first - 1, character: 0 }, end: { line: last, character: 0 } } };
}

function span(name: string, first: number): KeptLink {
  return { label: `shop/kept.py:${first}-${first + 3}`, location: lines(first, first + 3), kind: 'function', name };
}

const LINKS: CitationLink[] = [{ label: 'shop/pricing.py:10-20', location: lines(10, 20) }, { label: 'shop/cart.py:5', location: lines(5, 5, 'file:///repo/shop/cart.py') }];
const OPENABLE = { links: LINKS, kept: [span('round_up', 12), span('Cart.total', 30), span('Order.total', 40), span('Order.ship', 50)] };

describe('what code in an answer opens', () => {
  test.each<[string, Location]>([
    ['shop/pricing.py:12', lines(12)],
    ['shop/pricing.py:12-14', lines(12, 14)],
    ['shop/pricing.py:12–14', lines(12, 14)],
    ['pricing.py:10-20', lines(10, 20)],
    ['./shop/pricing.py:12', lines(12)],
    ['shop\\pricing.py:12', lines(12)],
    ['shop/pricing.py#L12-L14', lines(12, 14)],
    ['shop/cart.py:5', lines(5, 5, 'file:///repo/shop/cart.py')],
    ['round_up', lines(12, 15)],
    ['round_up(price)', lines(12, 15)],
    ['Cart.total', lines(30, 33)],
    ['ship', lines(50, 53)],
    ['shop/kept.py', lines(1)],
    ['kept.py', lines(1)],
  ])('%s', (text, location) => { expect(locate(text, OPENABLE)).toEqual(location); });

  test.each(['shop/pricing.py', 'shop/pricing.py:9', 'shop/pricing.py:15-25', 'icing.py:12', 'other/pricing.py:12', 'total', 'unknown', 'javascript:12', 'https://evil.test:12', '__proto__', 'constructor:1', ''])(
    'nothing for %j', (text) => { expect(locate(text, OPENABLE)).toBeUndefined(); });
});

describe('places in prose', () => {
  test('are cut out, and all of the text stays', () => {
    const text = 'See shop/pricing.py:12-14, (cart.py:5) and shop/pricing.py:99.';
    const parts = segments(text, OPENABLE);
    expect(parts.filter((part) => part.location).map((part) => part.text)).toEqual(['shop/pricing.py:12-14', 'cart.py:5']);
    expect(parts.map((part) => part.text).join('')).toBe(text);
  });

  test.each(['app/(auth)/login.tsx', 'my dir/x y.py', 'it’s, a:b #1/x.py'])('may be in %s, in code, too', (path) => {
    const openable = { links: [{ label: `w/${path}:1-9`, location: lines(1, 9) }], kept: [] };
    for (const named of [path, `w/${path}`, path.replaceAll('/', '\\')]) {
      expect(segments(`See ${named}:3 (${named}:99), or ${named}#L4.`, openable).filter((part) => part.location).map((part) => part.text)).toEqual([`${named}:3`, `${named}#L4`]);
      expect(locate(`${named}:3`, openable)).toEqual(lines(3));
    }
    expect(segments(`See other/${path}:3`, openable)).toHaveLength(1);
  });

  test('are found though a longer path that is known ends like theirs', () => {
    const links = ['docs/read me.md:1-9', 'me.md:20-40'].map((label) => ({ label, location: lines(Number(label.split(/[:-]/)[1]), Number(label.split('-')[1]), label) }));
    const found = segments('Please read me.md:30 and read me.md:3.', { links, kept: [] }).filter((part) => part.location);
    expect(found.map((part) => part.text)).toEqual(['me.md:30', 'read me.md:3']);
  });

  test('the end of a text that grows may become another place', () => {
    expect(segments('See pricing.py:1', OPENABLE, true)).toHaveLength(1);
    expect(segments('See pricing.py:12 ', OPENABLE, true).filter((part) => part.location)).toHaveLength(1);
  });

  test('a long text without places is read quickly', () => {
    expect(segments('a:'.repeat(50_000), OPENABLE)).toHaveLength(1);
    expect(segments('a'.repeat(100_000), OPENABLE)).toHaveLength(1);
    expect(segments('a:1'.repeat(30_000), OPENABLE)).toHaveLength(1);
    expect(locate('a:1'.repeat(30_000), OPENABLE)).toBeUndefined();
    expect(locate('a.'.repeat(50_000) + '!', OPENABLE)).toBeUndefined();
    expect(locate('a' + '::b'.repeat(30_000) + '!', OPENABLE)).toBeUndefined();
  });
});

test('only the web’s own schemes are addresses', () => {
  expect(webAddress('https://example.org/a?b#c')).toBe('https://example.org/a?b#c');
  for (const bad of ['javascript:alert(1)', ' javascript:alert(1)', 'command:x', 'data:text/html,x', 'file:///etc/passwd', 'vscode://x', '//example.org', 'http://', 'example.org'])
    expect(webAddress(bad), bad).toBeUndefined();
});

test('citations become links with lines as people count them, each once', () => {
  const partly = { uri: URI, range: { start: { line: 4, character: 2 }, end: { line: 6, character: 3 } } };
  const exchange = { id: 'e', conversation: 'c', asked: { text: 'q' }, question: 'q', askedAt: 0, outcome: 'answered' as const, answer: '', spans: [], notices: [], citations: [lines(10, 20), lines(5), partly, lines(5)] };
  const { links } = shownExchange(exchange, (uri) => uri.replace('file:///repo/', ''));
  expect(links.map(({ label }) => label)).toEqual(['shop/pricing.py:10-20', 'shop/pricing.py:5', 'shop/pricing.py:5-7']);
});

test('places of an answer: what it cites has numbers in the order of the text, lines that were not kept whole are added', () => {
  const kept = [span('a', 1), span('b', 10)];
  const footnotes = new Footnotes(kept, [{ label: 'shop/pricing.py:11', location: lines(11) }, { label: 'shop/pricing.py:90', location: lines(90) }]);
  expect(footnotes.places.map(({ label }) => label)).toEqual(['shop/kept.py:1-4', 'shop/kept.py:10-13', 'shop/pricing.py:90']);
  expect([lines(11), lines(90), lines(12), lines(200)].map((place) => footnotes.cite(place))).toEqual(['1', '2', '1', undefined]);
  expect(footnotes.places.map((place) => footnotes.numberOf(place))).toEqual([undefined, 1, 2]);
});
