// Uses the packaged extension in a real VS Code as a person does, and takes pictures, light and dark.
// usage: node ui.mjs URL FOLDER PICTURES
// Prints `ok NAME` for each thing that works; ends with 1 at the first that does not.
import { mkdir } from 'node:fs/promises';
import { chromium } from 'playwright-core';

const [, , base, folder, pictures] = process.argv;
const QUESTION = process.env.WINNOW_E2E_QUESTION ?? 'What does the function `total` do?';
const PATIENCE_MS = 120_000;
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

await mkdir(pictures, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', headless: true, args: flags });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
page.setDefaultTimeout(30_000);

async function step(name, act) {
  try {
    await act();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`FAIL ${name} -- ${error}`);
    await page.screenshot({ path: `${pictures}/failed.png` });
    await browser.close();
    process.exit(1);
  }
}

async function command(title) {
  await page.keyboard.press('F1');
  await page.locator('.quick-input-widget input').waitFor();
  await page.keyboard.type(title);
  await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: title }).waitFor();
  await page.keyboard.press('Enter');
}

/** The page inside of the Ask view. */
async function askPage() {
  for (let tries = 0; tries < 300; tries++) {
    for (const frame of page.frames()) {
      const box = frame.getByRole('textbox');
      if (frame !== page.mainFrame() && (await box.count().catch(() => 0)) > 0) return frame;
    }
    await page.waitForTimeout(100);
  }
  throw new Error('the Ask view did not come up');
}

async function useTheme(theme) {
  const wanted = page.locator(`.monaco-workbench${theme === 'dark' ? '.vs-dark' : '.vs'}`);
  if ((await wanted.count()) === 0) await command('Preferences: Toggle between Light/Dark Themes');
  await wanted.waitFor();
  await page.waitForTimeout(1000); // the views follow
}

async function inBothThemes(name, arrange = () => undefined) {
  for (const theme of ['light', 'dark']) {
    await useTheme(theme);
    await arrange();
    await page.screenshot({ path: `${pictures}/vscode-${name}-${theme}.png` });
  }
}

/** Drag the border of the side bar. */
async function widen(pixels) {
  const { x, width } = await page.locator('.part.sidebar').boundingBox();
  await page.mouse.move(x + width + 2, 400);
  await page.mouse.down();
  await page.mouse.move(x + width + 2 + pixels, 400, { steps: 5 });
  await page.mouse.up();
}

const status = page.locator('.statusbar-item', { hasText: 'Winnow' });
let ask;

await step('the workbench comes up', async () => {
  await page.goto(`${base}/?folder=${folder}`);
  await page.locator('.part.statusbar').waitFor({ timeout: PATIENCE_MS });
});
await step('the status bar says that the server is ready', async () => {
  await page.locator('.statusbar-item[aria-label*="Winnow: Ready"]').waitFor({ timeout: PATIENCE_MS });
});
await step('a file opens', async () => {
  await page.keyboard.press('Control+P');
  await page.locator('.quick-input-widget input').waitFor();
  await page.keyboard.type('pricing.py');
  await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: 'pricing.py' }).waitFor();
  await page.keyboard.press('Enter');
  await page.locator('.tab', { hasText: 'pricing.py' }).waitFor();
});
await step('the Ask view answers, and cites', async () => {
  await command('Winnow: Ask a Question');
  ask = await askPage();
  await widen(110);
  await ask.getByRole('textbox').fill(QUESTION);
  await ask.getByRole('textbox').press('Enter');
  await ask.locator('.sources li > *').first().waitFor({ timeout: PATIENCE_MS });
});
await step('a citation opens its line', async () => {
  const citation = ask.locator('.sources li > *').first();
  const [, path, line] = /([\w./]+):(\d+)/.exec(await citation.innerText()) ?? [];
  await citation.click();
  await page.locator('.tab.active', { hasText: path.split('/').at(-1) }).waitFor();
  await page.locator('.statusbar-item', { hasText: `Ln ${line},` }).waitFor();
});
await step('pictures of the Ask view', () => inBothThemes('ask'));
await step('the spans view shows files and scores', async () => {
  await ask.getByRole('button', { name: 'Why these spans?' }).last().click();
  const row = page.locator('.pane', { hasText: 'Why These Spans?' }).locator('.monaco-list-row', { hasText: '.py' }).first();
  await row.waitFor();
  await row.locator('.monaco-tl-twistie').click();
  await page.locator('.monaco-list-row', { hasText: 'likely' }).first().waitFor();
  await command('Winnow: Show Kept Spans');
  await page.locator('.monaco-editor .glyph-margin, .monaco-editor .margin').first().waitFor();
});
await step('pictures of the spans view', () => inBothThemes('spans'));
await step('a click on the status bar shows details, in both themes', () =>
  inBothThemes('status', async () => {
    await status.first().click();
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Drafter' }).waitFor();
    await page.waitForTimeout(1000); // it fades in
  }));
await browser.close();
