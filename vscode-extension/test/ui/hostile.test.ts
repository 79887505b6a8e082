/** Answers can never run script, load anything, or act for the user: in real Chromium, under the real policy. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exchange, launch, location, show, type Shown } from './harness';
import { ALLOWED, ALLOWED_ATTRIBUTES, HOSTILE } from './hostile';

const PIECE = 7;
let browser: Browser;
let shown: Shown;

beforeAll(async () => {
  browser = await launch();
  shown = await show(browser);
});
afterAll(() => browser.close());

/** Nothing ran, nothing was loaded, and the policy had nothing to refuse. */
async function expectHarmless({ page, requests, complaints }: Shown): Promise<void> {
  expect(await page.evaluate(() => window.pwned)).toBeUndefined();
  expect(requests).toEqual([]);
  expect(complaints).toEqual([]);
  expect(page.url()).toBe('http://ask.test/');
}

/** Names of elements and attributes in all answers on show. */
async function made({ page }: Shown): Promise<{ tags: string[]; attributes: string[]; hrefs: string[]; actions: string[] }> {
  return page.evaluate(() => {
    const all = [...document.querySelectorAll('.answer *')];
    const values = (name: string): string[] => all.map((element) => element.getAttribute(name)).filter((value) => value !== null);
    return {
      tags: all.map((element) => element.localName),
      attributes: all.flatMap((element) => element.getAttributeNames()),
      hrefs: values('href'),
      actions: values('data-action'),
    };
  });
}

describe('hostile answers', () => {
  test.each(Object.entries(HOSTILE))('%s', async (name, text) => {
    const size = Math.max(PIECE, Math.ceil(text.length / 60));
    await shown.tell({ type: 'new' }, { type: 'started', question: name, conversation: name });
    for (let start = 0; start < text.length; start += size) await shown.tell({ type: 'delta', text: text.slice(start, start + size) });
    await expectHarmless(shown);
    await shown.tell({ type: 'finished', exchange: exchange({ id: name, conversation: name, question: name, answer: text, links: [{ label: 'pricing.py:1-9', location: location(1, 9) }] }) });
    const { tags, attributes, hrefs, actions } = await made(shown);
    expect(tags.length).toBeGreaterThan(0);
    expect(tags.filter((tag) => !ALLOWED.has(tag))).toEqual([]);
    expect(attributes.filter((attribute) => !ALLOWED_ATTRIBUTES.has(attribute))).toEqual([]);
    expect(hrefs.filter((href) => href !== '#')).toEqual([]);
    expect(actions.filter((action) => !['copy-code', 'insert-code', 'browse', 'open'].includes(action))).toEqual([]);
    await shown.said();
    for (const element of await shown.page.locator('.answer :is(a, span[data-href])').all()) await element.click({ force: true });
    for (const message of await shown.said()) expect(message).toMatchObject({ type: 'browse', address: expect.stringMatching(/^https?:\/\//) as string });
    await expectHarmless(shown);
  });

  test('the text of a hostile answer is shown as it is', async () => {
    const text = '<img src=x onerror=alert(1)> and <b>bold</b>';
    await shown.answer(text, { id: 'text', conversation: 'text' });
    expect(await shown.page.locator('.answer').last().innerText()).toBe(text);
  });

  test('hostile questions, labels, errors, notices and titles are text, too', async () => {
    const bad = '<img src=x onerror="window.pwned=1">';
    const one = exchange({ id: 'bad', conversation: 'bad', question: bad, outcome: 'failed', answer: '', error: bad, notices: [bad], links: [{ label: bad, location: location(1) }], place: { uri: bad, label: bad } });
    await shown.tell({ type: 'history', exchanges: [one] }, { type: 'place', place: { uri: bad, label: bad, range: location(1).range } });
    await shown.tell({ type: 'readiness', readiness: { severity: 'error', message: bad, blocked: true, actions: [{ label: bad, command: bad }] } }, { type: 'started', question: bad, conversation: 'x' }, { type: 'progress', message: bad });
    await shown.page.getByRole('button', { name: 'History' }).click();
    await shown.page.locator('.conversation', { hasText: bad }).last().click();
    await shown.tell({ type: 'place' });
    expect(await shown.page.locator('body img').count()).toBe(0);
    await expectHarmless(shown);
    await shown.tell({ type: 'finished', exchange: exchange({ conversation: 'x' }) }, { type: 'readiness' });
  });

  test('a link to the web says where it leads, and VS Code asks before it opens', async () => {
    await shown.answer('[the manual](https://evil.test/?leak=1)', { id: 'web', conversation: 'web' });
    const link = shown.page.locator('.answer a').last();
    expect(await link.innerText()).toBe('the manual (https://evil.test/?leak=1)');
    await link.click();
    expect(await shown.said()).toEqual([{ type: 'browse', address: 'https://evil.test/?leak=1' }]);
    await expectHarmless(shown);
  });
});

describe('the policy, should the page ever fail', () => {
  test('refuses markup from strings, scripts, pictures, frames, styles and connections', async () => {
    const other = await show(browser);
    const results = await other.page.evaluate(async () => {
      const tries: Record<string, () => unknown> = {
        markup: () => { document.body.innerHTML += '<img src=x onerror=window.pwned=1>'; },
        fragment: () => document.createRange().createContextualFragment('<script>window.pwned=1</script>'),
        // In a task of its own: what the test itself runs is outside of the policy.
        evaluation: () => new Promise<void>((resolve) => { setTimeout(resolve); }).then(() => (0, eval)('window.pwned = 1') as unknown),
        fetching: () => fetch('http://evil.test/'),
      };
      const refused: Record<string, boolean> = {};
      for (const [name, run] of Object.entries(tries)) refused[name] = await Promise.resolve().then(run).then(() => false, () => true);
      for (const tag of ['img', 'iframe', 'script', 'style'] as const) {
        const element = document.createElement(tag);
        if (tag === 'style') element.textContent = 'body { color: rgb(1, 2, 3) }';
        else try { (element as HTMLImageElement).src = 'http://evil.test/'; } catch { /* trusted types */ }
        document.body.append(element);
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
      return { refused, styled: getComputedStyle(document.body).color === 'rgb(1, 2, 3)', pwned: window.pwned };
    });
    expect(results).toEqual({ refused: { markup: true, fragment: true, evaluation: true, fetching: true }, styled: false, pwned: undefined });
    expect(other.requests).toEqual([]);
    await expect.poll(() => other.complaints.length, { timeout: 60_000 }).toBeGreaterThan(0);
    await other.page.close();
  });
});
