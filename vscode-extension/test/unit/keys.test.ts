import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Where VS Code's own Match Whole Word has the key on macOS: find widgets, the search view, and a search editor. */
const FINDING = ['findInputFocussed', 'replaceInputFocussed', 'searchViewletFocus', 'searchInputBoxFocus', 'terminalFindInputFocused'];

test('on macOS the key of a question is not that of Match Whole Word', () => {
  const { contributes } = JSON.parse(readFileSync('package.json', 'utf8')) as { contributes: { keybindings: { command: string; when?: string }[] } };
  const asking = contributes.keybindings.find(({ command }) => command === 'winnow.askQuestion');
  expect(asking?.when).toBe(`!isMac || !(${FINDING.join(' || ')})`);
});
