/** For people who hear the view, who use only the keyboard, or who need strong contrast. */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { HostMessage } from '../../src/ask/contract';
import { exchange, location, opener } from './harness';
import { ANSWER, sample } from './samples';
import { THEME_NAMES } from './themes';

const SELECTION = { uri: 'file:///repo/shop/pricing.py', label: 'shop/pricing.py:12-14', range: location(12, 14).range };
const STARTED: HostMessage = { type: 'started', question: 'How are prices rounded?', conversation: 'c1' };
const BLOCKED: HostMessage = { type: 'readiness', readiness: { severity: 'warning', blocked: true, message: 'Run `winnow` first.', actions: [{ label: 'Set up…', command: 'winnow.setUp' }] } };

const open = opener();

describe('accessibility', () => {
  test('the answer is announced in pieces, not with every token, and its end is told', async () => {
    const { page, tell } = await open();
    await page.evaluate(() => {
      const region = document.querySelector('[aria-live]') ?? document.body;
      const heard: string[] = [];
      new MutationObserver(() => heard.push(region.textContent)).observe(region, { childList: true });
      Object.assign(window, { heard });
    });
    await tell(STARTED);
    for (const piece of ('One two three.\n\nFour five.').match(/[^]{1,3}/g) ?? []) await tell({ type: 'delta', text: piece });
    await tell({ type: 'finished', exchange: exchange({ answer: 'One two three.\n\nFour five.', links: [{ label: 'a.py:1', location: location(1) }] }) });
    const heard = await page.evaluate(() => (window as unknown as { heard: string[] }).heard);
    expect(heard.length).toBeLessThanOrEqual(3);
    expect(heard.join(' ').replace(/\s+/g, ' ')).toBe('Asked. One two three. Four five. End of the answer, 1 source.');
  });

  test('an answer is heard as sentences, not as Markdown', async () => {
    const { page, answer } = await open();
    await answer('## Rounding\n\n**Up**, by `round_up` & co:\n\n```python\na\nb\n```\n\n- one [link](a.py)\n- two\n\n| a |\n|---|\n| 1 |\n');
    await page.getByRole('status').filter({ hasText: 'Rounding Up, by round_up & co: Code, 2 lines. one link two Table, 1 row. End of the answer' }).waitFor();
  });

  test('text of each script runs in its own direction, code always to the right', async () => {
    const { page, answer } = await open();
    await answer('המחיר מעוגל ב־`round_up`.\n\nRounded up.\n\n- ראשון\n\n```\nשלום\n```\n', { question: 'איפה המחיר?' });
    const directions = await page.evaluate(() => ['.question h2', '.answer p', '.answer p:nth-of-type(2)', '.answer ul', '.answer pre'].map((one) => getComputedStyle(document.querySelector(one) ?? document.body).direction));
    expect(directions).toEqual(['rtl', 'rtl', 'ltr', 'rtl', 'ltr']);
  });

  test.each(THEME_NAMES)('axe finds nothing in %s, contrast measured', async (theme) => {
    const { page, answer, tell } = await open({ theme });
    await tell({ type: 'place', place: SELECTION }, BLOCKED, { type: 'model', name: 'qwen2.5-coder-1.5b' }, { type: 'starters', questions: ['How does `Cart` work?'] });
    await page.evaluate(await readFile('node_modules/axe-core/axe.min.js', 'utf8'));
    const check = (): Promise<string[]> => page.evaluate(async () => {
      const { axe } = window as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } };
      return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
    });
    expect(await check()).toEqual([]);
    await answer(`${ANSWER}\n> quoted \`code\``, sample({ notices: ['A notice, see `winnow.patience`'], finish: 'length' }));
    await page.getByRole('textbox').fill('@pri');
    await tell({ type: 'queued', questions: ['And then?'] }, { type: 'completions', word: 'pri', items: [{ kind: 'file', label: 'pricing.py', detail: 'shop', text: 'shop/pricing.py' }] });
    expect(await check()).toEqual([]);
    await page.getByRole('button', { name: 'History' }).click();
    expect(await check()).toEqual([]);
  });

  test('forced colours: the focus and the borders can be seen', async () => {
    const { page } = await open({ forcedColors: true });
    await page.getByRole('textbox').focus();
    expect(await page.locator('.box').evaluate((element) => getComputedStyle(element).outlineStyle)).toBe('solid');
  });
});
