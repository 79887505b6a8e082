/** The question box, and what stands there before the first question. */
import { describe, expect, test } from 'vitest';
import type { HostMessage } from '../../src/ask/contract';
import { location, opener } from './harness';
import { ANSWER, sample, STATS } from './samples';

const FILE = { uri: 'file:///repo/shop/pricing.py', label: 'shop/pricing.py' };
const SELECTION = { ...FILE, label: 'shop/pricing.py:12-14', range: location(12, 14).range };
const STARTED: HostMessage = { type: 'started', question: 'How are prices rounded?', conversation: 'c1' };
const BLOCKED: HostMessage = { type: 'readiness', readiness: { severity: 'warning', blocked: true, message: 'Run `winnow` first.', actions: [{ label: 'Set up…', command: 'winnow.setUp' }] } };

const open = opener();

describe('before a question', () => {
  test('nothing is sent without words; while an answer comes, the next question waits, and can be taken back', async () => {
    const { page, said, tell } = await open();
    const box = page.getByRole('textbox', { name: 'Question' });
    await box.press('Enter');
    await tell(STARTED);
    await box.fill('And now?');
    await box.press('Enter');
    expect(await said()).toEqual([{ type: 'ask', text: 'And now?', conversation: 'c1' }]);
    expect(await box.inputValue()).toBe('');
    await tell({ type: 'queued', questions: ['And now?'] });
    expect(await page.locator('.queue').innerText()).toContain('And now?');
    await page.getByRole('button', { name: 'Do not ask' }).click();
    expect(await said()).toEqual([{ type: 'unqueue', index: 0 }]);
  });

  test('`@` completes, by keyboard and by mouse', async () => {
    const { page, said, tell } = await open();
    const box = page.getByRole('textbox', { name: 'Question' });
    await box.pressSequentially('What is @p');
    expect((await said()).at(-1)).toEqual({ type: 'complete', word: 'p', first: false });
    const items = [{ kind: 'file' as const, label: 'pricing.py', detail: 'shop', text: 'shop/pricing.py' }, { kind: 'symbol' as const, label: 'price', detail: 'shop/pricing.py', text: '`price`' }];
    await tell({ type: 'completions', word: 'p', items });
    await box.press('ArrowDown');
    expect(await page.getByRole('option', { selected: true }).innerText()).toContain('price');
    await box.press('Enter');
    expect(await box.inputValue()).toBe('What is `price` ');
    await box.pressSequentially('@p');
    await tell({ type: 'completions', word: 'p', items });
    await page.getByRole('option', { name: 'pricing.py shop' }).click();
    expect(await box.inputValue()).toBe('What is `price` shop/pricing.py ');
    expect(await page.getByRole('listbox').isVisible()).toBe(false);
    await box.pressSequentially('@p');
    await tell({ type: 'completions', word: 'p', items: [{ kind: 'file', label: `${'price_'.repeat(20)}.py`, detail: 'shop', text: 'p.py' }] });
    expect(await page.getByRole('listbox').evaluate((list) => list.scrollWidth - list.clientWidth)).toBe(0);
    await box.press('Escape');
    expect(await page.getByRole('listbox').isVisible()).toBe(false);
  });

  test('before sending: the model, and what an answer cost lately', async () => {
    const { page, answer, said, tell } = await open();
    await tell({ type: 'model', name: 'qwen2.5-coder-1.5b' });
    expect(await page.locator('.before').innerText()).toBe('1.5B');
    await answer(ANSWER, sample());
    expect(await page.locator('.before').innerText()).toBe('1.5B · 7 places · about 2 s');
    await answer(ANSWER, sample({ id: 'e0', stats: { ...STATS, ttft: 40 } }));
    expect(await page.locator('.before').innerText()).toContain('about 2 s'); // one of them has loaded the model
    await page.getByRole('button', { name: '1.5B' }).click();
    expect(await said()).toEqual([{ type: 'choose-model' }]);
    await tell({ type: 'model' }, { type: 'model', name: 'smollm2-135m' });
    expect(await page.locator('.before').innerText()).toBe('135M'); // which has answered nothing yet
    for (const [name, shown] of [['http://127.0.0.1:11434/v1#org/coder:7b', '7B'], ['http://far:8000/v1#org/coder', 'coder'], ['https://far/v1', 'far'], ['https://far/v1#100%', '100%']] as const) {
      await tell({ type: 'model', name });
      expect(await page.locator('.before button').innerText()).toBe(shown);
    }
  });

  test('the first steps: one blue button, the fitting one; then questions from this workspace, asked without the open file', async () => {
    const { page, said, tell } = await open();
    await tell({ type: 'place', place: FILE }, BLOCKED, { type: 'starters', questions: ['How does `Cart` work?'] });
    expect(await page.locator('.primary').allInnerTexts()).toEqual(['Set up…']);
    expect(await page.locator('.banner').isVisible()).toBe(false);
    await tell({ type: 'readiness' });
    expect(await page.locator('.primary').count()).toBe(0);
    await page.getByRole('button', { name: 'How does Cart work?' }).click();
    expect(await said()).toEqual([{ type: 'ask', text: 'How does `Cart` work?' }]);
  });

  test('the welcome begins at its top, however low the view', async () => {
    const { page, tell } = await open({ height: 240 });
    await tell({ type: 'place', place: SELECTION }, BLOCKED);
    expect(await page.locator('main').evaluate((element) => element.scrollTop)).toBe(0);
    expect(await page.getByRole('heading', { name: 'Ask about this repository' }).isVisible()).toBe(true);
  });
});
