/** The page as VS Code would show it: built files, the real policy, a stand-in for the extension's side. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { HostMessage, PageMessage, ShownExchange } from '../../src/ask/contract';
import { pageHtml } from '../../src/ask/page';
import { THEMES, type ThemeName } from './themes';

const ORIGIN = 'http://ask.test';
const FILES = ['ask.js', 'ask.css'];

declare global {
  interface Window {
    /** What the page told the extension. */
    sent: PageMessage[];
    /** Set by hostile answers, if they ever run. */
    pwned?: unknown;
  }
}

export interface Shown {
  page: Page;
  /** All requests but those for the page and its two files. */
  requests: string[];
  /** Errors of the page's script, and what its policy refused. */
  complaints: string[];
  tell: (...messages: HostMessage[]) => Promise<void>;
  /** Ask, stream an answer in pieces, and finish; `over` changes what matters of the exchange. */
  answer: (text: string, over?: Partial<ShownExchange>) => Promise<void>;
  /** What the page said since the last call, but for `ready`. */
  said: () => Promise<PageMessage[]>;
}

export interface Options {
  theme?: ThemeName;
  width?: number;
  height?: number;
  /** What an earlier page left behind. */
  kept?: unknown;
  forcedColors?: boolean;
}

export function chromiumPath(): string | undefined {
  return [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => path !== undefined && existsSync(path));
}

export function launch(): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) throw new Error('No Chromium: install Debian’s chromium, or set CHROMIUM to its path.');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'] });
}

/** Open the page; it has said `ready` when this returns. */
export async function show(browser: Browser, { theme = 'dark', width = 320, height = 640, kept, forcedColors = false }: Options = {}): Promise<Shown> {
  const page = await browser.newPage({ viewport: { width, height }, reducedMotion: 'reduce', forcedColors: forcedColors ? 'active' : 'none' });
  const shown = { requests: [] as string[], complaints: [] as string[] };
  page.on('pageerror', (error) => shown.complaints.push(String(error)));
  page.on('console', (message) => { if (message.type() === 'error') shown.complaints.push(message.text()); });
  await serve(page, shown.requests);
  await page.addInitScript(standIn, { kept, ...THEMES[theme] });
  await page.goto(`${ORIGIN}/`);
  await page.waitForFunction(() => window.sent.some((message) => message.type === 'ready'));
  const tell = (...messages: HostMessage[]): Promise<void> => post(page, messages);
  const answer = async (text: string, over: Partial<ShownExchange> = {}): Promise<void> => {
    const done = exchange({ answer: text, ...over });
    await tell({ type: 'started', question: done.question, conversation: done.conversation });
    for (let start = 0; start < text.length; start += 7) await tell({ type: 'delta', text: text.slice(start, start + 7) });
    await tell({ type: 'finished', exchange: done });
  };
  const said = (): Promise<PageMessage[]> => page.evaluate(() => window.sent.splice(0).filter(({ type }) => type !== 'ready'));
  return { page, ...shown, tell, answer, said };
}

/** What opens the page in each test of a file, in one browser. After the test the page closes; it must have asked for nothing and complained of nothing. */
export function opener(): (options?: Options) => Promise<Shown> {
  let browser: Browser;
  let shown: Shown;
  beforeAll(async () => { browser = await launch(); });
  afterAll(() => browser.close());
  afterEach(async () => {
    expect(shown.complaints).toEqual([]);
    expect(shown.requests).toEqual([]);
    await shown.page.close();
  });
  return async (options = {}) => shown = await show(browser, options);
}

async function serve(page: Page, requests: string[]): Promise<void> {
  const html = withDefaults(pageHtml({ source: ORIGIN, script: `${ORIGIN}/ask.js`, style: `${ORIGIN}/ask.css`, nonce: 'dGVzdA==' }));
  await page.route('**/*', async (route) => {
    const name = route.request().url().replace(`${ORIGIN}/`, '');
    if (name === '') await route.fulfill({ contentType: 'text/html', body: html });
    else if (name === 'default-styles.css') await route.fulfill({ contentType: 'text/css', body: await readFile(`test/ui/${name}`) });
    else if (FILES.includes(name)) await route.fulfill({ contentType: name.endsWith('.js') ? 'text/javascript' : 'text/css', body: await readFile(`dist/${name}`) });
    else {
      requests.push(route.request().url());
      await route.abort();
    }
  });
}

/** VS Code's own style sheet for webviews, which comes before the page's; `default-styles.css` is copied from VS Code 1.139. */
function withDefaults(html: string): string {
  const link = `<link rel="stylesheet" href="${ORIGIN}/default-styles.css">`;
  return html.replace('<link', `${link}<link`);
}

/** Runs in the page before its script: what VS Code provides. */
function standIn({ kept, classes, background, variables }: { kept: unknown; classes: string; background: string; variables: Record<string, string> }): void {
  let state = kept;
  window.sent = [];
  const api = { postMessage: (message: PageMessage) => { window.sent.push(message); }, getState: () => state, setState: (next: unknown) => { state = next; } };
  Object.assign(window, { acquireVsCodeApi: () => api, keptState: () => state });
  document.addEventListener('DOMContentLoaded', () => {
    for (const [name, value] of Object.entries(variables)) document.documentElement.style.setProperty(`--vscode-${name}`, value);
    document.documentElement.style.background = background;
    document.body.className = classes;
  });
}

/** Post messages as the extension does, and wait until they are drawn. */
async function post(page: Page, messages: HostMessage[]): Promise<void> {
  await page.evaluate(async (all) => {
    for (const message of all) window.dispatchEvent(new MessageEvent('message', { data: message }));
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  }, messages);
}

const URI = 'file:///repo/shop/pricing.py';

export function location(line: number, end = line, uri = URI): { uri: string; range: { start: { line: number; character: number }; end: { line: number; character: number } } } {
  return { uri, range: { start: { line: line - 1, character: 0 }, end: { line: end, character: 0 } } };
}

/** An answered exchange; `over` changes what matters to a test. */
export function exchange(over: Partial<ShownExchange> = {}): ShownExchange {
  const question = 'How are prices rounded?';
  return { id: 'e1', conversation: 'c1', asked: { text: question }, question, askedAt: Date.now(), outcome: 'answered', answer: 'Up.', finish: 'eos', citations: [], links: [], kept: [], spans: [], notices: [], ...over };
}
