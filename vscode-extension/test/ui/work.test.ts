/** Drawing stays cheap, however long an answer is: counted in work, not in time. */
import { describe, expect, test } from 'vitest';
import type { HostMessage } from '../../src/ask/contract';
import { opener } from './harness';

const STARTED: HostMessage = { type: 'started', question: 'How are prices rounded?', conversation: 'c1' };

const open = opener();

describe('work', () => {
  test('draws once per frame, however many pieces come, and leaves finished blocks alone', async () => {
    const { page, tell } = await open();
    await tell(STARTED, { type: 'delta', text: 'A first paragraph.\n\nA second one\n' });
    const work = await page.evaluate(async () => {
      const counts = { batches: 0, first: 0, frames: 0 };
      const first = document.querySelector('.answer > p');
      new MutationObserver(() => { counts.batches += 1; }).observe(document.querySelector('.answer') ?? document.body, { childList: true, subtree: true, characterData: true });
      new MutationObserver(() => { counts.first += 1; }).observe(first ?? document.body, { childList: true, subtree: true, characterData: true });
      const send = (text: string): boolean => window.dispatchEvent(new MessageEvent('message', { data: { type: 'delta', text } }));
      for (let frame = 0; frame < 10; frame += 1) {
        for (let piece = 0; piece < 50; piece += 1) send('more words ');
        await new Promise(requestAnimationFrame);
        counts.frames += 1;
      }
      await new Promise(requestAnimationFrame);
      return { ...counts, kept: first === document.querySelector('.answer > p') };
    });
    expect(work.batches).toBeLessThanOrEqual(work.frames + 1);
    expect(work).toMatchObject({ first: 0, kept: true });
  });

  test('an answer of 100 KB: nodes touched per piece do not grow', async () => {
    const { page, tell } = await open();
    await tell(STARTED);
    const touched = await page.evaluate(async () => {
      const answer = document.querySelector('.answer') ?? document.body;
      let nodes = 0;
      const observer = new MutationObserver((records) => { for (const record of records) nodes += record.addedNodes.length + record.removedNodes.length; });
      observer.observe(answer, { childList: true, subtree: true });
      const paragraph = 'A sentence with `code` and **weight** that goes on for a while. '.repeat(4) + '\n\n';
      const stretch = async (): Promise<number> => {
        nodes = 0;
        for (let index = 0; index < 40; index += 1) {
          window.dispatchEvent(new MessageEvent('message', { data: { type: 'delta', text: paragraph } }));
          await new Promise(requestAnimationFrame);
        }
        return nodes;
      };
      const counts = [];
      for (let index = 0; index < 10; index += 1) counts.push(await stretch());
      return { counts, length: answer.textContent.length };
    });
    expect(touched.length).toBeGreaterThan(90_000);
    expect(touched.counts.at(-1)).toBeLessThanOrEqual(1.1 * (touched.counts[1] ?? 0));
  });

  test('the reader may scroll up while the answer comes, and a selection stays', async () => {
    const { page, tell } = await open();
    await tell(STARTED, { type: 'delta', text: 'line\n\n'.repeat(80) });
    const main = page.locator('main');
    expect(await main.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight)).toBeLessThan(2);
    await main.evaluate((element) => { element.scrollTop = 0; getSelection()?.selectAllChildren(element.querySelector('.answer p') ?? element); });
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))); // scrolling is told of in the next frame
    await tell({ type: 'delta', text: 'more\n\n'.repeat(20) });
    expect(await main.evaluate((element) => element.scrollTop)).toBe(0);
    expect(await page.evaluate(() => getSelection()?.toString())).toBe('line');
  });
});
