import { describe, expect, test } from 'vitest';
import type { ShownExchange } from '../../src/ask/contract';
import { ago, conversations } from '../../src/ask/webview/conversations';
import { askedPlace, EMPTY, lastTyped, newNotices, reduce, shownExchanges, shownRunning, type PageEvent, type PageState } from '../../src/ask/webview/state';

const FILE = { uri: 'file:///a.py', label: 'a.py' };
const SELECTION = { uri: 'file:///a.py', label: 'a.py:2-3', range: { start: { line: 1, character: 0 }, end: { line: 3, character: 0 } } };

function exchange(id: string, conversation: string, askedAt = 0): ShownExchange {
  return { id, conversation, asked: { text: `${id}?` }, question: `${id}?`, askedAt, outcome: 'answered', answer: id, citations: [], links: [], kept: [], spans: [], notices: [] };
}

function after(...events: PageEvent[]): PageState {
  return events.reduce(reduce, EMPTY);
}

const KEPT = { label: 'a.py:2-3', location: { uri: FILE.uri, range: SELECTION.range }, kind: 'function', name: 'f' };
const SENTENCE = { start: 0, end: 3, places: [], support: 0.1, unknown: [] };
const STARTED: PageEvent = { type: 'started', question: 'q', conversation: 'c' };

describe('an answer on its way', () => {
  test('gathers pieces and progress, then becomes an exchange', () => {
    const running = after(STARTED, { type: 'progress', message: 'reading' }, { type: 'kept', links: [KEPT] }, { type: 'delta', text: 'a' }, { type: 'delta', text: 'b', sentences: [SENTENCE] });
    expect(shownRunning(running)).toEqual({ question: 'q', conversation: 'c', kept: [KEPT], answer: 'ab', sentences: [SENTENCE], progress: 'reading' });
    const done = reduce(running, { type: 'finished', exchange: exchange('e', 'c') });
    expect(done.running).toBeUndefined();
    expect(shownExchanges(done).map(({ id }) => id)).toEqual(['e']);
  });

  test('goes on while another conversation is on show, and does not push itself in front', () => {
    const away = after({ type: 'history', exchanges: [exchange('old', 'o')] }, STARTED, { type: 'show', conversation: 'o' }, { type: 'delta', text: 'a' });
    expect(shownRunning(away)).toBeUndefined();
    const done = reduce(away, { type: 'finished', exchange: exchange('e', 'c') });
    expect(done.shown).toBe('o');
    expect(shownRunning(reduce(away, { type: 'show', conversation: 'c' }))?.answer).toBe('a');
  });

  test('an exchange is there once, though the history tells of it, too', () => {
    const state = after(STARTED, { type: 'history', exchanges: [exchange('e', 'c')] }, { type: 'finished', exchange: exchange('e', 'c') });
    expect(state.exchanges).toHaveLength(1);
  });

  test('pieces that come late change nothing', () => {
    expect(after({ type: 'delta', text: 'x' }, { type: 'progress', message: 'y' }, { type: 'kept', links: [KEPT] })).toEqual(EMPTY);
  });
});

describe('the conversation on show', () => {
  test('survives its history, and goes when it is deleted', () => {
    const state = { ...EMPTY, shown: 'c' };
    expect(reduce(state, { type: 'history', exchanges: [exchange('e', 'c')] }).shown).toBe('c');
    expect(reduce(state, { type: 'history', exchanges: [exchange('e', 'd')] }).shown).toBeUndefined();
  });

  test('a new one shows nothing and leaves the history', () => {
    const state = after({ type: 'history', exchanges: [exchange('e', 'c')] }, { type: 'show', conversation: 'c' }, { type: 'history-open', open: true }, { type: 'new' });
    expect(state).toMatchObject({ historyOpen: false });
    expect(shownExchanges(state)).toEqual([]);
  });
});

describe('what a question is about', () => {
  test('the selection, else the file, else nothing', () => {
    expect(askedPlace(after())).toBeUndefined();
    expect(askedPlace(after({ type: 'place', place: FILE }))).toEqual(FILE);
    expect(askedPlace(after({ type: 'place', place: SELECTION }))).toEqual(SELECTION);
    expect(askedPlace(after({ type: 'place', place: SELECTION }, { type: 'drop', part: 'selection' }))).toEqual(FILE);
    expect(askedPlace(after({ type: 'place', place: SELECTION }, { type: 'drop', part: 'file' }))).toBeUndefined();
  });

  test('a selection taken away counts again when it changes; the file stays away', () => {
    const other = { ...SELECTION, label: 'a.py:3', range: { ...SELECTION.range, start: { line: 2, character: 0 } } };
    const dropped = after({ type: 'place', place: SELECTION }, { type: 'drop', part: 'selection' });
    expect(askedPlace(reduce(dropped, { type: 'place', place: SELECTION }))).toEqual(FILE);
    expect(askedPlace(reduce(dropped, { type: 'place', place: other }))).toEqual(other);
    expect(askedPlace(after({ type: 'place', place: FILE }, { type: 'drop', part: 'file' }, { type: 'place', place: other }))).toBeUndefined();
  });
});

test('the last question that was typed comes back to the box, as the user put it', () => {
  const why = { about: 'diagnostic' as const, diagnostics: [{ message: 'unused' }] };
  const typed = { ...exchange('a', 'c'), question: 'What could this break?', asked: { text: '@changes What could this break?' } };
  const all = [typed, { ...exchange('b', 'c'), asked: why }, exchange('other', 'd')];
  expect(lastTyped({ ...after({ type: 'history', exchanges: all }), shown: 'c' })).toBe('@changes What could this break?');
  expect(lastTyped(EMPTY)).toBe('');
});

test('conversations: latest first, called by their first question', () => {
  const found = conversations([exchange('a', 'x', 1), exchange('b', 'y', 2), exchange('c', 'x', 3)]);
  expect(found).toEqual([{ id: 'x', title: 'a?', questions: 2, askedAt: 3 }, { id: 'y', title: 'b?', questions: 1, askedAt: 2 }]);
});

test.each([[0, 'just now'], [59_000, 'just now'], [60_000, '1 min ago'], [3_600_000, '1 h ago'], [23 * 3_600_000, '23 h ago']])('%i ms ago is %s', (passed, text) => {
  expect(ago(1e12, 1e12 + passed)).toBe(text);
});

test('a notice is told once, whatever its figures', () => {
  const first = { ...exchange('a', 'x'), notices: ['kept 1,607 of 3,933 tokens', 'no git'] };
  const second = { ...exchange('b', 'y'), notices: ['kept 900 of 4,000 tokens', 'new'] };
  const state = after({ type: 'history', exchanges: [first, second] });
  expect([newNotices(first, state), newNotices(second, state)]).toEqual([first.notices, ['new']]);
});
