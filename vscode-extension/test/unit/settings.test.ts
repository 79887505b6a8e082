import { expect, test } from 'vitest';
import { changedValue, forwarded, type Inspect } from '../../src/forwarded';

const DEFAULTS: Record<string, unknown> = { 'budget': 'auto', 'targetContext': null, 'files.exclude': [], 'cacheMegabytes': 6000 };
const inspecting = (user: Record<string, unknown> = {}): Inspect => (name) => ({ defaultValue: DEFAULTS[name], globalValue: user[name] });

test('the server gets what was changed, unknown names too, and nothing of the extension', () => {
  const section = {
    server: { path: '/bin/winnow' }, trace: { server: 'off' }, budget: { ratio: 0.05 }, targetContext: null,
    files: { include: ['*.py'], exclude: [] }, kvType: 'q8_0', maxTokens: null,
  };
  expect(forwarded(section, inspecting())).toEqual({ 'budget.ratio': 0.05, 'files.include': ['*.py'], 'kvType': 'q8_0' });
});

test.each([
  { cacheMegabytes: 1 },
  { winnow: { cacheMegabytes: 1, winnow: { cacheMegabytes: 1 } } },
  { 'winnow.cacheMegabytes': 1 },
  { cacheMegabytes: { 'cacheMegabytes': 1 } },
  'winnow',
  null,
])('the limit of the disk is the user’s, whatever a workspace has in %j', (section) => {
  const limits = Object.entries(forwarded(section, inspecting({ cacheMegabytes: 0 }))).filter(([name]) => name !== 'cacheMegabytes.cacheMegabytes');
  expect(limits).toEqual([['cacheMegabytes', 0]]);
});

test.each([
  { target: 'http://elsewhere/v1#m', drafter: 'x.gguf', speculate: 'x.gguf', index: { shared: ['http://elsewhere'] } },
  { 'target': 'http://elsewhere/v1#m', 'index.shared': ['http://elsewhere'] },
])('a workspace does not set where code is sent, by %j', (section) => {
  expect(forwarded(section, inspecting())).toEqual({});
  expect(forwarded(section, inspecting({ target: 'http://mine/v1#m' }))).toEqual({ target: 'http://mine/v1#m' });
});

test('agents get the user’s limit too', () => {
  expect(changedValue('cacheMegabytes', 1, inspecting({ cacheMegabytes: 3 }))).toBe(3);
  expect(changedValue('cacheMegabytes', 1, inspecting())).toBeUndefined();
  expect(changedValue('budget', 'auto', inspecting())).toBeUndefined();
  expect(changedValue('budget', 900, inspecting())).toBe(900);
});
