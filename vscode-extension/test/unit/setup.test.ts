import { expect, test } from 'vitest';
import { commands, isNewEnough, requirement } from '../../src/setup/plan';

test('the plan makes an environment, builds llama.cpp, installs into it and tries the program', () => {
  const [make, build, install, check] = commands(
    'python3', '/storage/environment', '/storage/environment/bin', '/extension/dist/llama/build.py', 'winnow-lsp',
  );
  expect(make).toEqual(['python3', '-m', 'venv', '/storage/environment']);
  expect(build).toEqual(['/storage/environment/bin/python', '/extension/dist/llama/build.py']);
  expect(install?.[0]).toBe('/storage/environment/bin/python');
  expect(install?.at(-1)).toBe('winnow-lsp');
  expect(check).toEqual(['/storage/environment/bin/winnow', '--version']);
});

test.each([
  ['winnow-lsp', ['winnow_lsp-0.1.0-py3-none-any.whl'], '/extension/dist/server/winnow_lsp-0.1.0-py3-none-any.whl'],
  ['winnow-lsp', [], 'winnow-lsp'],
  ['winnow-lsp', ['README.md'], 'winnow-lsp'],
  ['winnow-lsp==0.0.9', ['winnow_lsp-0.1.0-py3-none-any.whl'], 'winnow-lsp==0.0.9'],
  ['/source/of/winnow', ['winnow_lsp-0.1.0-py3-none-any.whl'], '/source/of/winnow'],
])('with the setting %s and %j in the extension, pip installs %s', (setting, files, expected) => {
  expect(requirement(setting, '/extension/dist/server', files)).toBe(expected);
});

test.each([
  ['Python 3.11.2', true],
  ['Python 3.14.0rc1', true],
  ['Python 4.0.0', true],
  ['Python 3.10.12', false],
  ['Python 2.7.18', false],
  ['', false],
])('%s', (version, enough) => {
  expect(isNewEnough(version)).toBe(enough);
});
