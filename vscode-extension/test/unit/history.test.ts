import { expect, test } from 'vitest';
import type { Exchange, SpanInfo } from '../../src/ask/contract';
import { History, type Store } from '../../src/asking/history';

function store(): Store & { values: Map<string, unknown> } {
  const values = new Map<string, unknown>();
  return {
    values,
    get: (key) => values.get(key),
    update: (key, value) => {
      values.set(key, structuredClone(value));
      return Promise.resolve();
    },
  };
}

function exchange(id: string, more: Partial<Exchange> = {}): Exchange {
  const spans = [{ name: id, features: { words: 1 } }] as unknown as SpanInfo[];
  return { id, conversation: 'c', asked: { text: `${id}?` }, question: `${id}?`, askedAt: 0, outcome: 'answered', answer: `${id}!`, citations: [], spans, notices: [], ...more };
}

test('what was asked is there in the next session', async () => {
  const shared = store();
  await new History(shared).add(exchange('a'));
  expect(new History(shared).all()).toEqual([exchange('a')]);
});

test('the answered questions of a conversation are its turns, and cancelled ones as far as their answers came', async () => {
  const history = new History(store());
  for (const one of [exchange('a'), exchange('b', { conversation: 'd' }), exchange('c', { outcome: 'cancelled', answer: '' }), exchange('g', { outcome: 'cancelled' }), exchange('e', { outcome: 'failed' }), exchange('f')]) await history.add(one);
  expect(history.turns('c')).toEqual([{ question: 'a?', answer: 'a!' }, { question: 'g?', answer: 'g!' }, { question: 'f?', answer: 'f!' }]);
  expect(history.turns('unknown')).toEqual([]);
});

test('a hundred are kept, and the spans of the last twenty', async () => {
  const history = new History(store());
  for (let index = 0; index < 103; index++) await history.add(exchange(`${index}`));
  const all = history.all();
  expect([all.length, all[0]?.id, all.at(-1)?.id]).toEqual([100, '3', '102']);
  expect(all.filter((one) => one.spans.length > 0).map((one) => one.id)).toEqual(Array.from({ length: 20 }, (_, index) => `${index + 83}`));
});

test('one conversation is forgotten, or all', async () => {
  const shared = store();
  const history = new History(shared);
  await history.add(exchange('a'));
  await history.add(exchange('b', { conversation: 'd' }));
  await history.forget('c');
  expect(history.all().map((one) => one.id)).toEqual(['b']);
  await history.forget();
  expect(new History(shared).all()).toEqual([]);
});

test('what was thought is kept with the latest exchanges only', async () => {
  const history = new History(store());
  for (let index = 0; index < 22; index++) await history.add(exchange(`${index}`, { thinking: { text: 'Hm.', seconds: 1, tokens: 2 } }));
  const thoughts = history.all().map(({ thinking }) => thinking?.text);
  expect(thoughts.slice(0, 3)).toEqual([undefined, undefined, 'Hm.']);
});
