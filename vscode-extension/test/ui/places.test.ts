/** The places of an answer: in sight from the moment they are known. */
import { describe, expect, test } from 'vitest';
import type { HostMessage, KeptLink, Location, ShownExchange } from '../../src/ask/contract';
import { exchange, location, opener } from './harness';
import { ANSWER, KEPT, sample } from './samples';

const STARTED: HostMessage = { type: 'started', question: 'How are prices rounded?', conversation: 'c1' };

const LONG = ANSWER.repeat(3);
const NOTICES = ['the index is not complete: this rests on 8,903 of about 12,173 tokens of code; ask again once it is', 'less code than it seems to need is kept, as much as the target reads in 10 s: `winnow.patience`'];
/** All the ways in which an answer ends. */
const ENDS: Record<string, Partial<ShownExchange>> = {
  answered: {},
  'answered at length': { answer: LONG },
  'answered in a line': { answer: 'Up, in `round_up`.', links: [], citations: [] },
  'answered with more places': { kept: KEPT },
  'answered with one place': { kept: KEPT.slice(0, 1) },
  'answered after a thought': { thinking: { text: 'Hm. '.repeat(200), seconds: 12, tokens: 340 } },
  'answered with notices': { answer: LONG, notices: NOTICES },
  'cut off': { answer: LONG, finish: 'length' },
  empty: { answer: '', links: [], citations: [] },
  stopped: { outcome: 'cancelled', answer: LONG },
  'stopped before it began': { outcome: 'cancelled', answer: '', links: [], citations: [] },
  failed: { outcome: 'failed', answer: '', error: 'The server ended. '.repeat(9), links: [], citations: [] },
  'failed in the middle': { outcome: 'failed', answer: LONG, error: 'The server ended.', links: [], citations: [] },
};

const open = opener();

function places(...numbers: number[]): Location[] {
  return KEPT.filter((_, index) => numbers.includes(index)).map((one) => one.location);
}

describe('the places', () => {
  test('the places are there before the answer, while it comes and after it, each a link, the cited ones numbered', async () => {
    const { page, said, tell } = await open();
    const first = page.locator('.places a', { hasText: 'round_up' });
    await tell(STARTED, { type: 'kept', links: KEPT.slice(0, 1), provisional: true });
    expect(await page.getByText('Found so far').isVisible()).toBe(true);
    await tell({ type: 'kept', links: KEPT }, { type: 'progress', message: 'reading 2,900 tokens, about 18 s' });
    const kept = page.getByRole('region', { name: 'Places' });
    expect(await kept.getByRole('listitem').count()).toBe(5);
    expect(await page.getByText('Found so far').isVisible()).toBe(false);
    await page.getByRole('status').filter({ hasText: '10 places found.' }).waitFor();
    await first.evaluate((element) => { element.dataset.same = 'yes'; });
    await tell({ type: 'progress', message: 'reading 2,900 tokens, about 17 s' });
    expect(await first.getAttribute('data-same')).toBe('yes');
    await first.click();
    expect(await said()).toEqual([{ type: 'open', location: KEPT[0]?.location }]);
    const notes = (): Promise<(string | undefined)[]> => kept.locator('a').evaluateAll((links) => (links as HTMLElement[]).map((link) => link.dataset.note));
    await tell({ type: 'delta', text: 'The *total* is made by `Cart.total`. It ' });
    await page.waitForTimeout(500); // drawing rests after it was slow
    await tell({ type: 'delta', text: 'is rounded by `sumUp`.', sentences: [{ start: 0, end: 36, places: places(1, 5), support: 0.9, unknown: [] }] });
    expect(await notes()).toEqual([undefined, '1', undefined, undefined, undefined, '2']);
    const sentences = [
      { start: 0, end: 36, places: places(1, 5), support: 0.9, unknown: [] },
      { start: 37, end: 62, places: places(0), support: 0.5, unknown: [{ start: 55, end: 60 }] },
      { start: 63, end: 90, places: [], support: 0.1, unknown: [] },
    ];
    expect(await first.getAttribute('data-same')).toBe('yes');
    const answer = 'The *total* is made by `Cart.total`. It is rounded by `sumUp`. Nobody **ever pays less**. 😀';
    await tell({ type: 'finished', exchange: exchange({ answer, kept: KEPT, sentences }) });
    expect(await notes()).toEqual(['3', '1', undefined, undefined, undefined, '2']);
    expect(await page.locator('.answer .source').evaluateAll((marks) => (marks as HTMLElement[]).map((one) => [one.dataset.note, one.previousSibling?.textContent]))).toEqual(
      [['1', '.'], ['2', ''], ['3', '.'], ['?', ''], ['?', '.']]);
    expect(await page.locator('.answer .doubt').evaluateAll((marks) => marks.map((one) => one.getAttribute('title')))).toEqual(
      ['sumUp is no name in this workspace.', 'Not found in the code shown.']);
    expect(await first.getAttribute('aria-description')).toBe('function, cited as 3');
    await kept.getByRole('button', { name: '4 more' }).click();
    expect(await kept.getByRole('listitem').count()).toBe(10);
  });

  test.each([[280, 640], [430, 533], [320, 740]])('at %i × %i places are in sight however an answer ends', async (width, height) => {
    const { page, tell } = await open({ width, height });
    for (const [name, end] of Object.entries(ENDS)) {
      const done = sample({ id: name, conversation: name, ...end });
      await tell({ type: 'new' }, { ...STARTED, conversation: name }, { type: 'kept', links: done.kept }, { type: 'delta', text: done.answer }, { type: 'finished', exchange: done });
      const hidden = await page.evaluate(() => {
        const log = document.querySelector('main')?.getBoundingClientRect();
        const places = [...document.querySelectorAll('.places li')].map((one) => one.getBoundingClientRect());
        return places.length === 0 || places.filter((one) => !log || one.top < log.top || one.bottom > log.bottom).length;
      });
      expect([name, hidden]).toEqual([name, 0]);
    }
  });

  test.each([[280, 640], [430, 533], [320, 740]])('at %i × %i the last line of a growing answer and its first places are always in sight', async (width, height) => {
    const { page, tell } = await open({ width, height });
    await tell(STARTED, { type: 'kept', links: KEPT });
    for (const piece of ANSWER.repeat(3).match(/[^]{1,40}/g) ?? []) {
      await tell({ type: 'delta', text: piece });
      const seen = await page.evaluate(() => {
        const [log, last, place] = ['main', '.answer > :last-child', '.places li'].map((one) => document.querySelector(one)?.getBoundingClientRect());
        return log && last && place && last.bottom <= log.bottom && last.bottom > log.top && place.bottom <= log.bottom;
      });
      expect(seen).toBe(true);
    }
    const share = await page.evaluate(() => (document.querySelector('main')?.clientHeight ?? 0) / innerHeight);
    expect(share).toBeGreaterThan(0.75);
  });

  test('a method that any class has is named with its class', async () => {
    const { page, tell } = await open();
    const [first] = KEPT;
    await tell(STARTED, { type: 'kept', links: ['Cart.__init__', 'Cart.total', '__init__'].map((name) => ({ ...first, name, label: `shop/cart.py:${name.length}` }) as KeptLink) });
    expect(await page.locator('.places .name').allInnerTexts()).toEqual(['Cart.__init__', 'total', '__init__']);
  });

  test('the code of a place is shown while the pointer rests on it', async () => {
    const { page, answer, said, tell } = await open();
    await answer(ANSWER, sample());
    await page.locator('.places a').first().evaluate((link) => { link.dispatchEvent(new PointerEvent('pointermove', { bubbles: true })); }); // it came under a pointer that rests
    await page.waitForTimeout(400);
    expect(await said()).toEqual([]);
    await page.locator('.places a').first().hover();
    await page.waitForFunction(() => window.sent.some(({ type }) => type === 'peek'));
    expect(await said()).toEqual([{ type: 'peek', location: KEPT[0]?.location }]);
    await tell({ type: 'peeked', location: KEPT[0]?.location ?? location(1), code: 'def round_up():\n    return 1' });
    expect(await page.getByRole('tooltip').innerText()).toContain('def round_up');
    await page.mouse.move(5, 5);
    expect(await page.getByRole('tooltip').isVisible()).toBe(false);
  });
});
