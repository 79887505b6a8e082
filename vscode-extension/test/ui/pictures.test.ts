/** Pictures to look at, written to the folder that SHOTS names. */
import { mkdir } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { HostMessage } from '../../src/ask/contract';
import { exchange, launch, location, show, type Shown } from './harness';
import { ANSWER, KEPT, sample } from './samples';
import { THEME_NAMES } from './themes';

const folder = process.env.SHOTS ?? '';
const PLACE: HostMessage = { type: 'place', place: { uri: 'file:///repo/shop/pricing.py', label: 'shop/pricing.py:12-14', range: location(12, 14).range } };
const HISTORY: HostMessage = {
  type: 'history',
  exchanges: [
    exchange({ id: 'h1', conversation: 'h1', question: 'Where are users authenticated, and which tokens are accepted?', askedAt: Date.now() - 9e7 }),
    exchange({ id: 'h2', conversation: 'h2', question: 'What does the scheduler do at midnight?', askedAt: Date.now() - 9e6 }),
    sample(),
  ],
};
const ASKED: HostMessage = { type: 'started', question: 'What happens with negative prices?', conversation: 'c1' };

const STATES: Record<string, (shown: Shown) => Promise<void>> = {
  welcome: ({ tell }) => tell({ type: 'model', name: 'qwen2.5-coder-1.5b' }, { type: 'starters', questions: ['What does this repository do?', 'Where does it start?', 'How does `Cart` work?'] }),
  completing: async ({ tell, page }) => {
    await tell(PLACE, HISTORY, { type: 'model', name: 'qwen2.5-coder-1.5b' }, ASKED, { type: 'queued', questions: ['And what about refunds?'] });
    await page.getByRole('textbox').fill('Does @pri');
    await tell({ type: 'completions', word: 'pri', items: [{ kind: 'file', label: 'pricing.py', detail: 'shop', text: 'shop/pricing.py' }, { kind: 'folder', label: 'prices', detail: 'shop', text: 'shop/prices' }, { kind: 'symbol', label: 'unit_price', detail: 'shop/pricing.py', text: '`unit_price`' }] });
  },
  blocked: ({ tell }) => tell({ type: 'readiness', readiness: { severity: 'warning', blocked: true, message: 'Winnow’s server was not found. Install it, or say where it is.', actions: [{ label: 'Install…', command: 'x' }, { label: 'Open settings', command: 'y' }] } }),
  indexing: ({ tell }) => tell(PLACE, HISTORY, ASKED, { type: 'readiness', readiness: { severity: 'info', blocked: false, message: 'Indexing 120 of 300 files.', actions: [] } }, { type: 'progress', message: 'reading 512 of 2,900 tokens' }),
  waiting: ({ tell }) => tell(PLACE, { type: 'model', name: 'qwen2.5-coder-1.5b' }, HISTORY, ASKED, { type: 'kept', links: KEPT }, { type: 'progress', message: 'reading 512 of 2,900 tokens, about 14 s' }),
  streaming: ({ tell }) => tell(PLACE, ASKED, { type: 'delta', text: ANSWER.slice(0, 250) }),
  answered: async ({ tell, page }) => {
    await tell(PLACE, HISTORY, { ...ASKED, question: 'How are prices rounded?', conversation: 'c2' }, { type: 'delta', text: ANSWER }, { type: 'finished', exchange: sample({ id: 'e9', conversation: 'c2' }) });
    await page.locator('.cost summary').click();
  },
  failed: ({ tell }) => tell({ ...ASKED, conversation: 'c3' }, { type: 'finished', exchange: exchange({ conversation: 'c3', id: 'x', question: 'What happens with negative prices?', outcome: 'failed', answer: '', error: 'The model qwen2.5-coder-1.5b is not there. Run “Winnow: Download Models”.', notices: ['budget lowered from 6,000 to 4,096 tokens to fit the context'] }) }),
  history: async ({ tell, page }) => {
    await tell(HISTORY);
    await page.getByRole('button', { name: 'History' }).click();
  },
};

describe.skipIf(folder === '')('pictures', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
    await mkdir(folder, { recursive: true });
  });
  afterAll(() => browser.close());

  for (const theme of THEME_NAMES)
    for (const width of [280, 430])
      for (const [name, arrange] of Object.entries(STATES))
        test(`${name} ${theme} ${width}`, async () => {
          const shown = await show(browser, { theme, width, height: 760 });
          await arrange(shown);
          await shown.page.screenshot({ path: `${folder}/${name}-${theme}-${width}.png` });
          await shown.page.close();
        });
});
