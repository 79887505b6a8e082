import { expect, test } from 'vitest';
import { edited, tabTitle } from '../../src/changes/edited';
import { repositoriesOf } from '../../src/commands/reviewed';

test('a message is for the repository whose menu was used, else for those with something staged', () => {
  const repository = (root: string, staged: number) => ({ rootUri: { fsPath: root, toString: () => root }, state: { indexChanges: Array(staged) }, inputBox: { value: '' } });
  const [first, second, third] = [repository('file:///a', 0), repository('file:///b', 2), repository('file:///c', 1)];
  expect(repositoriesOf([first, second, third], 'file:///c')).toEqual([third]);
  expect(repositoriesOf([first, second, third])).toEqual([second, third]);
  expect(repositoriesOf([first])).toEqual([first]);
  expect(repositoriesOf([])).toEqual([]);
});

test.each([
  ['abcdef', [], 'abcdef'],
  ['abcdef', [{ start: 4, end: 5, text: 'E' }, { start: 0, end: 2, text: '' }], 'cdEf'],
  ['abc', [{ start: 3, end: 3, text: '\r\nd' }], 'abc\r\nd'],
])('%j with %j is %j', (text, replacements, expected) => {
  expect(edited(text, replacements)).toBe(expected);
});

test('a tab names the change and its file', () => {
  expect(tabTitle('Fix `total`', '/shop/pricing.py', false)).toBe('Fix total (pricing.py)');
  expect(tabTitle('Fix `total`', '/shop/pricing.py', true)).toBe('Rejected: Fix total (pricing.py)');
});
