// Uses the packaged extension in a real VS Code as a person does, and takes pictures, light and dark, and one that moves.
// usage: node ui.mjs URL FOLDER PICTURES
import { askPage, command, enter, leave, openFile, page, picture, record, status, step, until, useTheme } from './person.mjs';

const QUESTION = process.env.WINNOW_E2E_QUESTION ?? 'What does the function `total` do?';
const FOLLOW_UP = 'And who calls it?';
const CHANGES = process.env.WINNOW_E2E_CHANGES !== undefined; // small targets are offered none, those on servers are

async function inBothThemes(name, arrange = () => undefined) {
  for (const theme of ['light', 'dark']) {
    await useTheme(theme);
    await arrange();
    await picture(`vscode-${name}-${theme}`);
  }
}

/** Drag the border of the secondary side bar. */
async function widen(pixels) {
  const { x } = await sideBar.boundingBox();
  await page.mouse.move(x - 2, 400);
  await page.mouse.down();
  await page.mouse.move(x - 2 - pixels, 400, { steps: 2 });
  await page.mouse.up();
  await page.mouse.move(x - 300, 400);
}

/** The share of the side bar's height that the answer has, in a window of that size. */
async function answerShare(width, height) {
  await page.setViewportSize({ width, height });
  await page.waitForTimeout(1000); // the views follow
  const [answer, bar] = await Promise.all([ask.locator('main').boundingBox(), sideBar.boundingBox()]);
  return answer.height / bar.height;
}

let ask;
let recorded;
const sideBar = page.locator('.part.auxiliarybar');

await step('the workbench comes up', enter);
await step('the status bar says that the server is ready', async () => {
  await status('Winnow: Ready').waitFor();
});
await step('a file opens', () => openFile('README.md'));
await step('the Ask view answers, and cites', async () => {
  await page.setViewportSize({ width: 1060, height: 660 });
  await page.waitForTimeout(1000); // the views follow
  recorded = await record('answer');
  await command('Winnow: Ask a Question');
  ask = await askPage();
  await widen(80);
  await ask.getByRole('textbox').pressSequentially(QUESTION, { delay: 30 });
  await ask.getByRole('textbox').press('Enter');
  await ask.getByRole('button', { name: 'Why these spans?' }).waitFor();
  await ask.locator('.places li > *').first().waitFor();
});
await step('a citation opens its line', async () => {
  const citation = ask.locator('.places li > *').first();
  const [, path, line] = /([\w./]+):(\d+)/.exec(await citation.innerText()) ?? [];
  await citation.hover();
  await page.waitForTimeout(700); // for who watches the recording
  await citation.click();
  await page.locator('.tab.active', { hasText: path.split('/').at(-1) }).waitFor();
  await page.locator('.statusbar-item', { hasText: `Ln ${line},` }).waitFor();
  await page.waitForTimeout(300);
});
await step('a follow-up is answered', async () => {
  await ask.getByRole('textbox').pressSequentially(FOLLOW_UP, { delay: 30 });
  await ask.getByRole('textbox').press('Enter');
  await ask.locator('article.turn footer').nth(1).waitFor();
  await page.waitForTimeout(700);
});
await step('a fault is fixed: the change is shown as a diff, and accepted', async () => {
  if (!CHANGES) return;
  await openFile('basket.ts');
  await page.keyboard.press('Control+B');
  const fault = page.locator('.editor-instance .squiggly-error');
  await fault.first().waitFor(); // once TypeScript's server is there
  await page.keyboard.press('F8'); // the next problem
  await page.waitForTimeout(1500);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+.');
  await page.locator('.action-widget .monaco-list-row', { hasText: 'Winnow: Fix this problem' }).first().click();
  await page.locator('.tab.active', { hasText: 'Fix cost' }).waitFor();
  await page.waitForTimeout(1500);
  await page.keyboard.press('Control+Enter');
  await page.locator('.tab.active', { hasText: /^basket\.ts$/ }).waitFor();
  await fault.waitFor({ state: 'detached' });
  await page.waitForTimeout(700);
});
await step('all of that was recorded', async () => {
  await recorded();
  if (CHANGES) await command('File: Revert File');
  if (CHANGES) await page.keyboard.press('Control+B');
  await page.setViewportSize({ width: 1280, height: 800 });
});
await step('most of the view is the answer, at 150 percent too', async () => {
  const large = await answerShare(853, 533); // of 1280 × 800
  const usual = await answerShare(1280, 800);
  console.log(`the answer has ${Math.round(usual * 100)} and ${Math.round(large * 100)} percent`);
  if (usual < 0.6 || large < 0.5) throw new Error('the answer has too little of the view');
});
await step('pictures of the Ask view', async () => {
  await inBothThemes('ask');
  await ask.locator('article.turn').first().evaluate((turn) => { turn.scrollIntoView(); });
  await picture('walkthrough-ask', sideBar);
});
await step('the spans view shows files and scores', async () => {
  await ask.getByRole('button', { name: 'Why these spans?' }).last().click();
  const row = page.locator('.pane', { hasText: 'Why These Spans?' }).locator('.monaco-list-row', { hasText: '.py' }).first();
  await row.waitFor();
  await row.locator('.monaco-tl-twistie').click();
  await page.locator('.monaco-list-row', { hasText: 'likely' }).first().waitFor();
  await command('Winnow: Show or Hide Kept Spans');
  await page.locator('.monaco-editor .glyph-margin, .monaco-editor .margin').first().waitFor();
});
await step('pictures of the spans view', async () => {
  await inBothThemes('spans');
  const heading = sideBar.locator('.pane-header', { hasText: 'Ask' }).first();
  await heading.click(); // all of the side bar is for the spans
  await page.waitForTimeout(1000); // the views follow
  await picture('walkthrough-why', sideBar);
  await heading.click();
  ask = await askPage(); // its frame was away
});
await step('a click on the status bar shows details, in both themes', () =>
  inBothThemes('status', async () => {
    await status('Winnow').click();
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Drafter' }).waitFor();
    await page.waitForTimeout(1000); // it fades in
  }));
await step('questions to begin with are made from the workspace', async () => {
  await page.keyboard.press('Escape');
  await sideBar.getByRole('button', { name: 'New Conversation' }).click();
  await ask.getByRole('button', { name: /^How does .* work\?$/ }).first().waitFor();
});
await step('the chat panel answers, and no account is asked for', async () => {
  await page.keyboard.press('Escape');
  await command('Chat: Open Chat');
  const panel = page.locator('.interactive-session').last();
  await panel.locator('.chat-input-toolbars', { hasText: 'Winnow' }).waitFor(); // the panel has taken the model up
  const input = panel.locator('.interactive-input-editor .native-edit-context, .interactive-input-editor textarea').first();
  const suggestions = page.locator('.suggest-widget.visible');
  await until(async () => {
    await input.focus();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(`@winnow ${QUESTION}`); // typed, `@` may bring up suggestions, and take the next key for one of them
    if ((await suggestions.count()) > 0) await page.keyboard.press('Escape');
    if (!(await panel.locator('.interactive-input-editor .view-lines').innerText()).startsWith('@winnow')) return false;
    await page.keyboard.press('Enter');
    return panel.locator('.interactive-request').first().waitFor({ timeout: 10_000 }).then(() => true, () => false);
  });
  await panel.locator('.interactive-response', { hasText: 'Cited:' }).waitFor();
});
await leave();
