import { expect, test } from 'vitest';
import type { Status } from '../../src/server/protocol';
import { describe as describeState, facts } from '../../src/status/describe';

const RUNNING = { kind: 'running', command: '/bin/winnow', source: 'PATH', version: '0.1.0' } as const;
const STATUS: Status = {
  state: 'indexing',
  message: 'loading models',
  index: { done: 120, total: 1300, tokens: 5000, totalTokens: 61336, staleFiles: 2 },
  models: { drafter: { name: 'small', state: 'ready' }, target: { name: 'large', state: 'failed', error: 'not here' } },
  questions: { running: 1, waiting: 2 },
  memoryBytes: 1_234_000_000,
};

test.each([
  ['loading', '$(loading~spin) Winnow: loading'],
  ['indexing', '$(sync~spin) Winnow: 120 of 1,300 files'],
  ['ready', '$(check) Winnow'],
  ['stale', '$(history) Winnow: 2 changed'],
  ['answering', '$(comment-discussion) Winnow: loading'],
  ['error', '$(error) Winnow'],
] as const)('a server that is %s', (state, text) => {
  const description = describeState(RUNNING, { ...STATUS, state });
  expect(description.text).toBe(text);
  expect(description.detail).toBe(state === 'indexing' ? 'Ask now: 120 of 1,300 files indexed' : 'Loading models');
  expect(description.severity).toBe(state === 'error' ? 'error' : 'normal');
});

test.each([
  ['reading 512 of 2,900 tokens, about 14 s', 'reading'],
  ['waiting, 2 before this one', 'waiting'],
  ['answering, 1 waiting', 'answering'],
  ['', 'answering'],
])('a question that is %s', (message, word) => {
  expect(describeState(RUNNING, { ...STATUS, state: 'answering', message }).text).toBe(`$(comment-discussion) Winnow: ${word}`);
});

test.each([
  [{ kind: 'untrusted' }, 'warning', /trust/],
  [{ kind: 'folderless' }, 'normal', /Open a folder/],
  [{ kind: 'missing', message: 'no winnow' }, 'warning', /no winnow/],
  [{ kind: 'failed', message: 'it ended' }, 'error', /it ended/],
  [{ kind: 'stopped' }, 'normal', /stopped/],
  [{ kind: 'starting', command: '/bin/winnow', source: 'PATH' }, 'normal', /starting/],
] as const)('without a running server: %o', (state, severity, detail) => {
  const description = describeState(state, undefined);
  expect(description.severity).toBe(severity);
  expect(description.detail).toMatch(detail);
});

test('the details name server, index, models, questions and memory', () => {
  expect(facts(RUNNING, STATUS)).toEqual([
    ['Server', '0.1.0, /bin/winnow (PATH)'],
    ['Index', '120 of 1,300 files, 61,336 tokens, 2 changed since'],
    ['Drafter', 'small, ready'],
    ['Target', 'large, failed: not here'],
    ['Questions', '1 running, 2 waiting'],
    ['Memory', '1,234 MB'],
  ]);
  expect(facts({ kind: 'stopped' }, undefined)).toEqual([]);
});

test('one file is not called one files', () => {
  const index = { ...STATUS.index, done: 1, total: 1, totalTokens: 1, staleFiles: 0 };
  expect(facts(RUNNING, { ...STATUS, index })).toContainEqual(['Index', '1 of 1 file, 1 token, 0 changed since']);
});
