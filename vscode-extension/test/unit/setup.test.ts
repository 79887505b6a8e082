import { expect, test } from 'vitest';
import { commands, isNewEnough, packages } from '../../src/setup/plan';

test('the plan makes an environment, builds llama.cpp, installs into it and tries the program', () => {
  const [make, build, install, check] = commands(
    'python3', '/storage/environment', '/storage/environment/bin', '/extension/dist/llama/build.py', ['--find-links', '/wheels', 'winnow-lsp'],
  );
  expect(make).toEqual(['python3', '-m', 'venv', '/storage/environment']);
  expect(build).toEqual(['/storage/environment/bin/python', '/extension/dist/llama/build.py']);
  expect(install?.[0]).toBe('/storage/environment/bin/python');
  expect(install?.slice(-3)).toEqual(['--find-links', '/wheels', 'winnow-lsp']);
  expect(check).toEqual(['/storage/environment/bin/winnow', '--version']);
});

const SERVER = '/extension/dist/server';
const WHEELS = ['winnow_weights_adapter-1.0.0-py3-none-any.whl', 'winnow_lsp-0.1.0-py3-none-any.whl'];

test.each([
  ['winnow-lsp', WHEELS, ['--find-links', SERVER, `${SERVER}/winnow_lsp-0.1.0-py3-none-any.whl`]],
  ['winnow-lsp', [], ['winnow-lsp']],
  ['winnow-lsp', ['README.md', 'winnow_weights_adapter-1.0.0-py3-none-any.whl'], ['winnow-lsp']],
  ['winnow-lsp==0.0.9', WHEELS, ['winnow-lsp==0.0.9']],
  ['/built/winnow_lsp-0.2.0-py3-none-any.whl', WHEELS, ['--find-links', '/built', '/built/winnow_lsp-0.2.0-py3-none-any.whl']],
  ['/source/of/winnow', WHEELS, ['/source/of/winnow', '/source/of/winnow/engine/winnow_weights/adapter']],
  ['/source/of/another', [], ['/source/of/another']],
])('with the setting %s and %j in the extension, pip is given %j', (setting, files, expected) => {
  expect(packages(setting, SERVER, files, (path) => path.startsWith('/source/of/winnow/'))).toEqual(expected);
});

test('a relative setting is no folder, whatever lies where VS Code was started', () => {
  expect(packages('winnow-lsp', SERVER, [], () => true)).toEqual(['winnow-lsp']);
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
