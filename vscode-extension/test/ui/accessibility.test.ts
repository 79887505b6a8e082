/** For people who hear the view, who use only the keyboard, or who need strong contrast. */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { HostMessage } from '../../src/ask/contract';
import { exchange, location, opener } from './harness';
import { ANSWER, sample } from './samples';
import type { ThemeName } from './themes';

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

  test.each(['dark', 'light', 'high-contrast'] satisfies ThemeName[])('axe finds nothing in %s', async (theme) => {
    const { page, answer, tell } = await open({ theme });
    await tell({ type: 'place', place: SELECTION }, BLOCKED);
    await answer(ANSWER, sample({ notices: ['A notice'] }));
    await page.evaluate(await readFile('node_modules/axe-core/axe.min.js', 'utf8'));
    const check = (): Promise<string[]> => page.evaluate(async () => {
      const { axe } = window as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } };
      return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
    });
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
