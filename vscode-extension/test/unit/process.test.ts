import { afterEach, expect, test, vi } from 'vitest';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { end, endsWithin, exitCode, hasEnded, start } from '../../src/server/process';
import { whyNotWinnow } from '../../src/server/program';

afterEach(() => { vi.unstubAllEnvs(); vi.unstubAllGlobals(); });

test('a process that heeds no signal is killed, with what it started', async () => {
  const child = start('/bin/sh', ['-c', 'trap "" TERM; sleep 60 & echo started; wait; wait']);
  await once(child.stdout, 'data');
  const closed = once(child, 'close'); // the last that holds the output has ended: `sleep` too
  await end(child);
  expect(hasEnded(child)).toBe(true);
  await closed;
});

test('ending what has ended is no error', async () => {
  const child = start('/bin/sh', ['-c', 'exit 3']);
  expect(await exitCode(child)).toBe(3);
  await end(child);
});

test('a process that runs on does not end within the time; one that ends does', async () => {
  const child = start('/bin/sh', ['-c', 'read -r line']);
  expect(await endsWithin(child, 20)).toBe(false);
  const ended = endsWithin(child, 60_000);
  child.stdin.end();
  expect(await ended).toBe(true);
  expect(await endsWithin(child, 0)).toBe(true);
});

test('a program that is not there is an error', async () => {
  const child = start('/nowhere/program', []);
  await expect(exitCode(child)).rejects.toThrow('ENOENT');
  await end(child);
});

// Windows by name only: these ran on Linux, with a `taskkill` that does what it is documented to do.
test('on Windows the whole tree is ended by its own command', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'winnow-'));
  const [program, said] = ['taskkill', 'said'].map((name) => path.join(folder, name)) as [string, string];
  await writeFile(program, `#!/bin/sh\necho "$@" >${said}\nkill -KILL "$2"\n`);
  await chmod(program, 0o755);
  vi.stubEnv('PATH', `${folder}:${process.env.PATH ?? ''}`);
  vi.stubGlobal('process', Object.create(process, { platform: { value: 'win32' } }));
  const child = start('/bin/sh', ['-c', 'trap "" TERM; read -r line']);
  await end(child);
  expect(hasEnded(child)).toBe(true);
  expect((await readFile(said, 'utf8')).trim()).toBe(`/PID ${child.pid ?? 0} /T /F`);
});

test('on Windows without that command the process itself is ended', async () => {
  vi.stubEnv('PATH', '/nowhere');
  vi.stubGlobal('process', Object.create(process, { platform: { value: 'win32' } }));
  const child = start('/bin/sh', ['-c', 'read -r line']);
  await end(child);
  expect(hasEnded(child)).toBe(true);
});

test.each([
  ['echo "winnow, version 0.1.0"', undefined],
  ['echo "Python 3.11.2"', /is not the winnow program: --version printed “Python 3.11.2”/],
  ['echo "usage: ls" >&2; exit 2', /is not the winnow program.*usage: ls/],
  ['sleep 60', /is not the winnow program\./],
  [undefined, /cannot be run/],
])('a program that does %j is checked by its version', async (script, why) => {
  const program = path.join(await mkdtemp(path.join(tmpdir(), 'winnow-')), 'program');
  if (script !== undefined) await writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const found = await whyNotWinnow(program, 500);
  if (why === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(why);
});
