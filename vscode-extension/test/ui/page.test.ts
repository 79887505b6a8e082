/** The view as a person uses it: asking, stopping, following links, going back in the history, by mouse and by keyboard. */
import { describe, expect, test } from 'vitest';
import type { HostMessage, PageMessage } from '../../src/ask/contract';
import { exchange, location, opener } from './harness';
import { ANSWER, KEPT, sample } from './samples';

const FILE = { uri: 'file:///repo/shop/pricing.py', label: 'shop/pricing.py' };
const SELECTION = { ...FILE, label: 'shop/pricing.py:12-14', range: location(12, 14).range };
const STARTED: HostMessage = { type: 'started', question: 'How are prices rounded?', conversation: 'c1' };
const BLOCKED: HostMessage = { type: 'readiness', readiness: { severity: 'warning', blocked: true, message: 'Run `winnow` first.', actions: [{ label: 'Set up…', command: 'winnow.setUp' }] } };

const open = opener();

describe('asking', () => {
  test('Enter sends, Shift+Enter makes a new line, the box is empty again and has the focus', async () => {
    const { page, said } = await open();
    const box = page.getByRole('textbox', { name: 'Question' });
    await box.pressSequentially('How are');
    await box.press('Shift+Enter');
    await box.pressSequentially('prices rounded?');
    await box.press('Enter');
    expect(await said()).toEqual([{ type: 'ask', text: 'How are\nprices rounded?' }]);
    expect(await box.inputValue()).toBe('');
    expect(await box.evaluate((element) => element === document.activeElement)).toBe(true);
  });

  test('a thought is folded above the answer, as plain text, and opens by keyboard', async () => {
    const { page, answer } = await open();
    const text = 'Hm, <img src=x> and **bold**.\nSo: up.';
    await answer('Up.', { thinking: { text, seconds: 12, tokens: 340 } });
    const summary = page.getByText('Thought for 12.0 s (340 tokens)');
    expect(await page.getByText('Hm, <img').isVisible()).toBe(false);
    await summary.press('Enter');
    expect(await page.locator('.thought p').textContent()).toBe(text);
    expect(await page.locator('.thought p').isVisible()).toBe(true);
    expect(await page.locator('.thought img').count()).toBe(0);
  });

  test('the words that the server added to a question are not shown', async () => {
    const { page, tell } = await open();
    const done = exchange({ question: 'Why is `total` so? Name each commit that made it so by its id.', title: 'Why is `total` so?' });
    await tell(STARTED, { type: 'finished', exchange: done });
    expect(await page.getByRole('heading', { level: 2 }).last().innerText()).toBe('Why is `total` so?');
    await page.getByRole('button', { name: 'History' }).click();
    expect(await page.locator('body').innerText()).not.toContain('Name each commit');
  });

  test('a follow-up goes into the same conversation, a new one does not', async () => {
    const { page, answer, said, tell } = await open();
    await answer('Up.');
    await page.getByRole('textbox').fill('Always?');
    await page.keyboard.press('Enter');
    await tell({ type: 'new' });
    await page.keyboard.type('What else?');
    await page.keyboard.press('Enter');
    expect(await said()).toEqual([{ type: 'ask', text: 'Always?', conversation: 'c1' }, { type: 'ask', text: 'What else?' }]);
  });

  test('chips: the file and the selection go along, until they are taken away', async () => {
    const { page, said, tell } = await open();
    await tell({ type: 'place', place: SELECTION });
    const ask = async (): Promise<PageMessage[]> => {
      await page.getByRole('textbox').fill('Why?');
      await page.keyboard.press('Enter');
      return said();
    };
    expect(await ask()).toEqual([{ type: 'ask', text: 'Why?', place: SELECTION }]);
    await page.getByRole('button', { name: 'Leave out lines 12–14' }).click();
    expect(await ask()).toEqual([{ type: 'ask', text: 'Why?', place: FILE }]);
    await page.getByRole('button', { name: 'Leave out pricing.py' }).click();
    expect(await ask()).toEqual([{ type: 'ask', text: 'Why?' }]);
    await page.getByRole('button', { name: 'pricing.py' }).click();
    await page.getByRole('button', { name: 'lines 12–14' }).click();
    expect(await ask()).toEqual([{ type: 'ask', text: 'Why?', place: SELECTION }]);
  });

  test('a table scrolls, and breaks no word', async () => {
    const { page, answer } = await open({ width: 280 });
    await answer('| handler | registered by |\n|---|---|\n| `error_handler_spec[name][None]` | `@blueprint.errorhandler(KeyError)` |\n');
    const [shown, whole, line]: (number | undefined)[] = await page.locator('.table').evaluate((table) => [table.clientWidth, table.scrollWidth, table.querySelector('td code')?.getClientRects().length]);
    expect(whole).toBeGreaterThan(shown ?? 0);
    expect(line).toBe(1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  });

  test('suggestions ask about the selection', async () => {
    const { page, said, tell } = await open();
    await tell({ type: 'place', place: SELECTION });
    await page.getByRole('button', { name: 'How is this used?' }).click();
    expect(await said()).toEqual([{ type: 'ask', about: 'usage', place: SELECTION }]);
  });

  test('while the server is not ready it says why, offers what to do, and does not ask', async () => {
    const { page, said, tell } = await open();
    await tell(BLOCKED);
    await page.getByRole('textbox').fill('Why?');
    expect(await page.getByRole('button', { name: 'Ask (Enter)' }).isDisabled()).toBe(true);
    await page.getByRole('textbox').press('Enter');
    await page.getByRole('button', { name: 'Set up…' }).click();
    expect(await said()).toEqual([{ type: 'act', index: 0 }]);
    expect(await page.locator('.welcome code').innerText()).toBe('winnow');
    await tell({ type: 'readiness' });
    expect(await page.locator('.banner').isVisible()).toBe(false);
    expect(await page.getByRole('button', { name: 'Ask (Enter)' }).isDisabled()).toBe(false);
  });
});

describe('the answer', () => {
  test('streams as Markdown, with code in colours, and ends as the whole answer', async () => {
    const { page, tell } = await open();
    await tell(STARTED, { type: 'progress', message: 'reading 512 of 2,900 tokens' });
    expect(await page.locator('.waiting').innerText()).toBe('Reading 512 of 2,900 tokens…');
    expect(await page.locator('.waiting progress').getAttribute('value')).toBe(String(512 / 2900));
    for (const piece of ANSWER.match(/[^]{1,9}/g) ?? []) await tell({ type: 'delta', text: piece });
    expect(await page.locator('.waiting').innerText()).toBe('');
    expect(await page.locator('.answer pre .hljs-keyword').allInnerTexts()).toEqual(['def', 'return']);
    const streamed = await page.locator('.answer').innerText();
    await tell({ type: 'finished', exchange: sample() });
    expect(await page.locator('.answer').innerText()).toBe(streamed);
    expect(await page.locator('.answer td').count()).toBe(4);
  });

  test('an answer that differs from what streamed is shown as it is', async () => {
    const { page, tell } = await open();
    await tell(STARTED, { type: 'delta', text: 'Half a thought' }, { type: 'finished', exchange: exchange({ answer: 'Something else' }) });
    expect(await page.locator('.answer').innerText()).toBe('Something else');
  });

  test('cited lines and kept names open; other code does not', async () => {
    const { page, answer, said } = await open();
    await answer(`${ANSWER}\n\`shop/other.py:3\` and \`unknown\` and shop/pricing.py:99`, sample({ answer: `${ANSWER}\n\`shop/other.py:3\` and \`unknown\` and shop/pricing.py:99` }));
    const links = page.locator('.answer a');
    expect(await links.allInnerTexts()).toEqual(['round_up', 'shop/pricing.py:12-14', 'Cart.total', 'shop/cart.py:40', 'round_up', 'Cart.total', 'shop/cart.py:40', 'shop/invoice.py:7']);
    await links.nth(1).click();
    await page.locator('.places a').nth(1).press('Enter');
    expect(await said()).toEqual([{ type: 'open', location: location(12, 14) }, { type: 'open', location: KEPT[1]?.location }]);
  });

  test('stops by button and by Escape, and keeps what came', async () => {
    const { page, said, tell } = await open();
    await tell(STARTED, { type: 'delta', text: 'Prices are' });
    await page.getByRole('button', { name: /^Stop/ }).click();
    await page.keyboard.press('Escape');
    expect(await said()).toEqual([{ type: 'stop' }, { type: 'stop' }]);
    await tell({ type: 'finished', exchange: exchange({ outcome: 'cancelled', answer: 'Prices are' }) });
    expect(await page.locator('.turn').innerText()).toMatch(/Prices are\s+Stopped here\./);
    await page.getByRole('button', { name: 'Try again' }).click();
    expect(await said()).toEqual([{ type: 'ask', text: 'How are prices rounded?', conversation: 'c1' }]);
  });

  test('a question is asked again as the user put it, by button and by ↑', async () => {
    const { page, answer, said } = await open();
    const asked = { about: 'diagnostic' as const, diagnostics: [{ message: 'unused' }] };
    await answer('Up.', { question: 'What could this break?', title: '@changes What could this break?', asked: { text: '@changes What could this break?' } });
    await answer('Remove it.', { id: 'e2', asked, place: SELECTION });
    for (const button of await page.getByRole('button', { name: 'Ask again' }).all()) await button.click();
    expect(await said()).toEqual([{ type: 'ask', text: '@changes What could this break?', conversation: 'c1' }, { type: 'ask', ...asked, place: SELECTION, conversation: 'c1' }]);
    await page.getByRole('textbox', { name: 'Question' }).press('ArrowUp');
    expect(await page.getByRole('textbox', { name: 'Question' }).inputValue()).toBe('@changes What could this break?');
  });

  test('errors and notices are told, with what to do', async () => {
    const { page, said, tell } = await open();
    await tell(STARTED, { type: 'finished', exchange: exchange({ outcome: 'failed', answer: '', error: 'No model. Run `winnow models pull`.', notices: ['2 earlier turns left out', 'kept 900 of 4,000 tokens to begin within 10 s (`winnow.patience`)'] }) });
    expect(await page.getByRole('alert').innerText()).toBe('No model. Run winnow models pull.');
    expect(await page.locator('.notice').first().innerText()).toBe('2 earlier turns left out');
    await page.getByRole('button', { name: 'winnow.patience' }).click();
    expect(await said()).toEqual([{ type: 'setting', name: 'winnow.patience' }]);
  });

  test('copies and inserts code, copies the answer, shows spans and stages', async () => {
    const { page, answer, said } = await open();
    await answer(ANSWER, sample());
    await page.getByRole('button', { name: 'Copy code' }).click();
    await page.getByRole('button', { name: 'Insert at cursor' }).click();
    await page.getByRole('button', { name: 'Copy the answer' }).click();
    await page.getByRole('button', { name: 'Why these spans?' }).click();
    const code = /```python\n([^]*?)\n```/.exec(ANSWER)?.[1];
    expect(await said()).toEqual([{ type: 'copy', text: code }, { type: 'insert', text: code }, { type: 'copy', text: `${ANSWER}\nPlaces:\n\n- [shop/pricing.py:12-14](shop/pricing.py#L12-L14)\n- [shop/cart.py:40](shop/cart.py#L40)\n- [shop/invoice.py:7](shop/invoice.py#L7)` }, { type: 'spans', exchangeId: 'e1' }]);
    await page.getByText('First token after 1.96 s').click();
    const rows = (await page.locator('.cost tr').allInnerTexts()).map((row) => row.replace(/\s+/g, ' '));
    expect(rows).toEqual(['Reading changed files 31 ms', 'Indexing 412 ms', 'Scoring code 187 ms', 'Choosing spans 22 ms', 'Reading the prompt 1.30 s']);
    const widths = await page.locator('.bar').evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width));
    expect(Math.max(...widths)).toBe(widths.at(-1));
  });
});

describe('the history', () => {
  const HISTORY: HostMessage = { type: 'history', exchanges: [exchange({ id: 'a', conversation: 'a', question: 'First?' }), exchange({ id: 'b', conversation: 'b', question: 'Second?', askedAt: Date.now() + 1 })] };

  test('lists conversations, opens one, deletes one or all; by keyboard', async () => {
    const { page, said, tell } = await open();
    await tell(HISTORY);
    await page.getByRole('button', { name: 'History' }).press('Enter');
    expect(await page.locator('.conversation .name').allInnerTexts()).toEqual(['Second?', 'First?']);
    expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe('Search the history');
    await page.keyboard.type('first up');
    expect(await page.locator('.conversation .name').filter({ visible: true }).allInnerTexts()).toEqual(['First?']);
    await page.getByRole('searchbox').fill('');
    for (const key of ['Tab', 'Tab', 'Enter']) await page.keyboard.press(key);
    await page.getByRole('button', { name: 'Delete all…' }).click();
    expect(await said()).toEqual([{ type: 'forget', conversation: 'b' }, { type: 'forget' }]);
    await page.getByText('First?').click();
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('First?');
    expect(await page.locator('.answer').innerText()).toBe('Up.');
  });

  test('Escape goes back, with the focus where it was', async () => {
    const { page, tell } = await open();
    await tell(HISTORY);
    await page.getByRole('button', { name: 'History' }).click();
    await page.keyboard.press('Escape');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('History');
  });

  test('a conversation that was deleted is no longer shown', async () => {
    const { page, answer, tell } = await open();
    await answer('Up.');
    await tell({ type: 'history', exchanges: [] });
    expect(await page.locator('.turn').count()).toBe(0);
    expect(await page.getByText('Ask about this repository').isVisible()).toBe(true);
  });
});

describe('a view that was hidden or reloaded', () => {
  test('has its draft and its conversation again, and the answer on its way', async () => {
    const { page, tell } = await open({ kept: { shown: 'c1', draft: 'And', withoutFile: true } });
    expect(await page.getByRole('textbox').inputValue()).toBe('And');
    await tell({ type: 'history', exchanges: [exchange({ id: 'e0', question: 'Before?' })] }, STARTED, { type: 'progress', message: 'answering' }, { type: 'delta', text: 'So far' });
    expect(await page.locator('.turn h2').allInnerTexts()).toEqual(['Before?', 'How are prices rounded?']);
    expect(await page.locator('.answer').last().innerText()).toBe('So far');
    await tell({ type: 'delta', text: ' so good' }, { type: 'finished', exchange: exchange({ answer: 'So far so good' }) });
    expect(await page.locator('.answer').last().innerText()).toBe('So far so good');
  });

  test('leaves behind what the next page needs', async () => {
    const { page, answer } = await open();
    await answer('Up.');
    await page.getByRole('textbox').fill('draft');
    const kept = await page.evaluate(() => (window as unknown as { keptState(): unknown }).keptState());
    expect(kept).toEqual({ shown: 'c1', draft: 'draft', withoutFile: false });
  });
});
