import { expect, test } from 'vitest';
import { aboutChanges, byFile, repositoryOf, summary, type Finding } from '../../src/commands/reviewed';

const finding = (uri: string, line: number): Finding => ({
  location: { uri, range: { start: { line, character: 0 }, end: { line: line + 1, character: 0 } } },
  reason: 'it is wrong',
  confidence: 'medium',
  rule: 'model',
});

test('findings are shown file by file', () => {
  const [first, second, third] = [finding('file:///a', 1), finding('file:///b', 2), finding('file:///a', 3)];
  expect([...byFile([first, second, third])]).toEqual([['file:///a', [first, third]], ['file:///b', [second]]]);
});

test('a message is for the repository whose menu was used, else for one with something staged', () => {
  const repository = (root: string, staged: number) => ({ rootUri: { toString: () => root }, state: { indexChanges: Array(staged) }, inputBox: { value: '' } });
  const [first, second, third] = [repository('file:///a', 0), repository('file:///b', 2), repository('file:///c', 1)];
  expect(repositoryOf([first, second, third], 'file:///c')).toBe(third);
  expect(repositoryOf([first, second, third])).toBe(second);
  expect(repositoryOf([first])).toBe(first);
  expect(repositoryOf([])).toBeUndefined();
});

test('a review says how much it found', () => {
  expect(summary({ title: '', findings: [] })).toBe('The review found nothing.');
  expect(summary({ title: '', findings: [finding('file:///a', 1)] })).toBe('The review found one thing.');
  expect(summary({ title: '', findings: [finding('file:///a', 1), finding('file:///a', 2)] })).toBe('The review found 2 things.');
});

test('a question of /changes begins with the change', () => {
  expect(aboutChanges('what could break?')).toBe('@changes what could break?');
  expect(aboutChanges('')).toBe('@changes');
});
