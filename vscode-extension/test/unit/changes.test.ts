import { expect, test } from 'vitest';
import { repositoryOf } from '../../src/commands/reviewed';

test('a message is for the repository whose menu was used, else for one with something staged', () => {
  const repository = (root: string, staged: number) => ({ rootUri: { toString: () => root }, state: { indexChanges: Array(staged) }, inputBox: { value: '' } });
  const [first, second, third] = [repository('file:///a', 0), repository('file:///b', 2), repository('file:///c', 1)];
  expect(repositoryOf([first, second, third], 'file:///c')).toBe(third);
  expect(repositoryOf([first, second, third])).toBe(second);
  expect(repositoryOf([first])).toBe(first);
  expect(repositoryOf([])).toBeUndefined();
});
