import { expect, test } from 'vitest';
import { once } from 'node:events';
import { end, endsWithin, exitCode, hasEnded, start } from '../../src/server/process';

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
