import { expect, test } from 'vitest';
import { completed } from '../../src/ask/completing';

const PATHS = ['README.md', 'src/flask/app.py', 'src/flask/sansio/app.py', 'src/flask/json/provider.py', 'tests/test_apps.py'];
const SYMBOLS = [{ name: 'App', path: 'src/flask/sansio/app.py' }, { name: 'make_app', path: 'src/flask/cli.py' }];

test.each([
  ['cha', true, ['@changes']],
  ['cha', false, []],
  ['app', false, ['src/flask/app.py', 'src/flask/sansio/app.py', '`App`', 'tests/test_apps.py', '`make_app`']],
  ['sansio', false, ['src/flask/sansio', 'src/flask/sansio/app.py']],
  ['src/flask/j', false, ['src/flask/json', 'src/flask/json/provider.py']],
  ['sfjp', false, ['src/flask/json/provider.py']],
  ['nowhere', true, []],
] as const)('@%s (first: %s)', (word, first, texts) => {
  expect(completed(word, first, PATHS, SYMBOLS).map(({ text }) => text)).toEqual(texts);
});
