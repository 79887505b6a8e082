// What the scripts share that use VS Code as a person does, in headless Chromium. A script is called with URL FOLDER PICTURES and more;
// it prints `ok NAME` for each step that works, and ends with 1 at the first that does not.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { chromium } from 'playwright-core';

/** How long a busy machine may take for anything. */
const PATIENCE_MS = Number(process.env.WINNOW_E2E_PATIENCE_MS ?? 300_000);
const [, , base, folder, pictures] = process.argv;
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

await mkdir(pictures, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', headless: true, args: flags });
export const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
page.setDefaultTimeout(PATIENCE_MS);

export async function step(name, act) {
  try {
    await act();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`FAIL ${name} -- ${error}: ${(await page.locator('body').innerText()).slice(-2000).replaceAll('\n', ' | ')}`);
    await picture('failed');
    await browser.close();
    process.exit(1);
  }
}

export async function leave() {
  await browser.close();
}

export async function enter() {
  await page.goto(`${base}/?folder=${folder}`);
  await page.locator('.part.statusbar').waitFor();
}

/** Keep a picture of the window, or of a part of it. */
export async function picture(name, part = page) {
  await part.screenshot({ path: `${pictures}/${name}.png` });
}

export async function useTheme(theme) {
  const wanted = page.locator(`.monaco-workbench${theme === 'dark' ? '.vs-dark' : '.vs'}`);
  if ((await wanted.count()) === 0) await command('Preferences: Toggle between Light/Dark Themes');
  await wanted.waitFor();
  await page.waitForTimeout(1000); // the views follow; only the pictures depend on it
}

/** Pick the row that `words` find in the quick input that `key` opens, again if something took the focus and closed it. */
export async function pick(key, words, row, tries = 5) {
  await page.keyboard.press(key);
  try {
    await page.locator('.quick-input-widget input').fill(words, { timeout: 20_000 });
    await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: row }).waitFor({ timeout: 60_000 });
  } catch (error) {
    if (tries === 1) throw error;
    await page.keyboard.press('Escape');
    return pick(key, words, row, tries - 1);
  }
  await page.keyboard.press('Enter');
}

export async function command(title) {
  await pick('F1', `>${title}`, title);
}

export async function openFile(name) {
  await pick('Control+P', name, name);
  await page.locator('.tab.active', { hasText: name }).waitFor();
}

/** The status bar item once it says `words`. */
export function status(words) {
  return page.locator(`.statusbar-item[aria-label*="${words}" i]`).first();
}

/** The page inside of the Ask view. */
export async function askPage() {
  const isAsk = async (frame) => frame !== page.mainFrame() && (await frame.getByRole('textbox', { name: 'Question' }).count().catch(() => 0)) > 0; // frames come and go
  let found;
  await until(async () => {
    for (const frame of page.frames()) if (await isAsk(frame)) found = frame;
    return found !== undefined;
  });
  return found;
}

/** Press a button of the notification that holds `words`: it pops up, and hides in the list of all of them after a while. */
export async function pressInNotification(words, label) {
  const found = page.locator('.notification-list-item', { hasText: words }).filter({ visible: true }).first();
  const button = found.getByRole('button', { name: label, exact: true });
  await until(async () => {
    if ((await found.count()) > 0) return button.click({ timeout: 10_000 }).then(() => true, () => false);
    if ((await page.locator('.notifications-center.visible').count()) === 0) await command('Notifications: Show Notifications');
    return false;
  });
}

/** Poll until it holds. */
export async function until(holds) {
  const end = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`it never held: ${holds}`);
    await page.waitForTimeout(200);
  }
}

/** Keep what the page shows, frame by frame; the function that ends it writes the frames to the folder `name` of the pictures, with their times in seconds. */
export async function record(name) {
  const to = `${pictures}/${name}`;
  await rm(to, { recursive: true, force: true });
  await mkdir(to, { recursive: true });
  const client = await page.context().newCDPSession(page);
  const frames = [];
  client.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
    frames.push({ data, at: metadata.timestamp });
    client.send('Page.screencastFrameAck', { sessionId }).catch(() => undefined); // it has ended meanwhile
  });
  await client.send('Page.startScreencast', { format: 'png' });
  return async () => {
    await client.send('Page.stopScreencast');
    const all = frames.toSorted((a, b) => a.at - b.at); // and what is still on its way comes too late
    await Promise.all(all.map(({ data }, index) => writeFile(`${to}/${String(index).padStart(5, '0')}.png`, data, 'base64')));
    await writeFile(`${to}/times.json`, JSON.stringify(all.map(({ at }) => at)));
  };
}
