import { expect, test } from 'vitest';
import { commands, isNewEnough } from '../../src/setup/plan';

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
  ['Python 3.11.2', true],
  ['Python 3.14.0rc1', true],
  ['Python 4.0.0', true],
  ['Python 3.10.12', false],
  ['Python 2.7.18', false],
  ['', false],
])('%s', (version, enough) => {
  expect(isNewEnough(version)).toBe(enough);
});
