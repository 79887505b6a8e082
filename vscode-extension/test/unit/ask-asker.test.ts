import { describe, expect, test } from 'vitest';
import type { CancellationToken } from 'vscode';
import { Asker } from '../../src/ask/asker';
import { EMPTY, reduce } from '../../src/ask/webview/state';
import type { AskListener, Exchange, HostMessage, Question, SpanInfo } from '../../src/ask/contract';

const SPAN: SpanInfo = {
  location: { uri: 'a.py', range: { start: { line: 2, character: 0 }, end: { line: 9, character: 0 } } },
  score: 1, features: {}, tokens: 40, kind: 'class_header', name: 'Cart',
};
const SENTENCE = { start: 0, end: 3, places: [], support: 0.1, unknown: [] };
const LINK = { label: 'a.py:3-9', location: SPAN.location, kind: 'class_header', name: 'Cart' };

/** A service whose answers the test gives. */
class Fake {
  readonly asked: { question: Question; listener: AskListener; token: CancellationToken; end: (over?: Partial<Exchange>) => void }[] = [];
  readonly past: Exchange[] = [];

  ask(question: Question, listener: AskListener, token: CancellationToken): Promise<Exchange> {
    return new Promise((resolve) => {
      const end = (over: Partial<Exchange> = {}): void => {
        const exchange: Exchange = { id: 'e', conversation: question.conversation ?? '', asked: question, question: question.text ?? '', askedAt: 0, outcome: 'answered', answer: 'done', citations: [], spans: [], notices: [], ...over };
        this.past.push(exchange);
        resolve(exchange);
      };
      token.onCancellationRequested(() => { end({ outcome: 'cancelled' }); });
      this.asked.push({ question, listener, token, end });
    });
  }

  history(): Exchange[] {
    return this.past;
  }

  at(index: number): Fake['asked'][number] {
    const asked = this.asked[index];
    if (!asked) throw new Error(`question ${index} was not asked`);
    return asked;
  }
}

function cancellation(): { token: CancellationToken; cancel(): void; dispose(): void } {
  const listeners: ((event: unknown) => unknown)[] = [];
  const token = { isCancellationRequested: false, onCancellationRequested: (listener: (event: unknown) => unknown) => { listeners.push(listener); return { dispose: () => undefined }; } };
  return { token, cancel: () => { token.isCancellationRequested = true; for (const listener of listeners) listener(undefined); }, dispose: () => undefined };
}

function setUp(ready = true): { fake: Fake; asker: Asker; posted: HostMessage[] } {
  const fake = new Fake();
  const posted: HostMessage[] = [];
  let ids = 0;
  const asker = new Asker({ service: fake, relative: (uri) => uri, post: (message) => ready && posted.push(message) > 0, cancellation, newId: () => `c${++ids}` });
  return { fake, asker, posted };
}

const tick = (): Promise<void> => new Promise((resolve) => { setTimeout(resolve, 1); });

describe('an answer on its way', () => {
  test('is told to the page from start to end', async () => {
    const { fake, asker, posted } = setUp();
    const answer = asker.ask({ text: 'q' });
    await tick();
    fake.at(0).listener.progress('reading');
    fake.at(0).listener.kept([SPAN], true);
    fake.at(0).listener.delta('a');
    fake.at(0).end();
    expect((await answer).conversation).toBe('c1');
    expect(posted.map(({ type }) => type)).toEqual(['started', 'progress', 'kept', 'delta', 'finished']);
    expect(posted).toContainEqual({ type: 'kept', links: [LINK], provisional: true });
  });

  test('is replayed to a page that comes late, with nothing lost or told twice', async () => {
    const { fake, asker } = setUp();
    void asker.ask({ text: 'q', conversation: 'c' });
    await tick();
    for (const piece of ['one ', 'two ', 'three']) fake.at(0).listener.delta(piece, piece === 'two ' ? [SENTENCE] : undefined);
    fake.at(0).listener.progress('answering');
    fake.at(0).listener.kept([SPAN]);
    expect(asker.replay()).toEqual([
      { type: 'history', exchanges: [] },
      { type: 'started', question: 'q', conversation: 'c' },
      { type: 'progress', message: 'answering' },
      { type: 'kept', links: [LINK] },
      { type: 'delta', text: 'one two three', sentences: [SENTENCE] },
      { type: 'queued', questions: [] },
    ]);
    fake.at(0).end();
    await tick();
    expect(asker.replay()).toMatchObject([{ type: 'history', exchanges: [{ id: 'e', answer: 'done', links: [] }] }]);
  });

  test.each([true, false])('is shown by a page that comes after its end, unless that page knows it: %s', async (knows) => {
    const { fake, asker } = setUp(knows);
    const answer = asker.ask({ text: 'q', conversation: 'c' });
    await tick();
    fake.at(0).end({ outcome: 'failed' });
    await answer;
    const state = asker.replay().reduce(reduce, EMPTY);
    expect(state.shown).toBe(knows ? undefined : 'c');
    expect([state.running, state.exchanges.map(({ outcome }) => outcome)]).toEqual([undefined, ['failed']]);
    expect(asker.replay()).toHaveLength(1);
  });

  test('is stopped by the next question, which then gets its turn', async () => {
    const { fake, asker } = setUp();
    const first = asker.ask({ text: 'first' });
    await tick();
    const second = asker.ask({ text: 'second' });
    expect((await first).outcome).toBe('cancelled');
    await tick();
    expect(fake.asked.map(({ question }) => question.text)).toEqual(['first', 'second']);
    fake.at(1).end();
    expect((await second).outcome).toBe('answered');
  });

  test('lets the next question wait, which is asked when it is over', async () => {
    const { fake, asker, posted } = setUp();
    void asker.ask({ text: 'first' });
    await tick();
    for (const text of ['second', 'dropped', 'third']) await asker.enqueue({ text, conversation: 'c1' });
    asker.unqueue(1);
    expect(posted.at(-1)).toEqual({ type: 'queued', questions: ['second', 'third'] });
    fake.at(0).end();
    await tick();
    await tick();
    expect(fake.asked.map(({ question }) => [question.text, question.conversation])).toEqual([['first', 'c1'], ['second', 'c1']]);
    expect(asker.replay().at(-1)).toEqual({ type: 'queued', questions: ['third'] });
  });

  test('questions of a new conversation that wait follow up each other, not the answer before them', async () => {
    const { fake, asker } = setUp();
    void asker.ask({ text: 'first' });
    await tick();
    await asker.enqueue({ text: 'new' });
    await asker.enqueue({ text: 'and then?' });
    for (const number of [0, 1]) {
      fake.at(number).end();
      await tick();
      await tick();
    }
    expect(fake.asked.map(({ question }) => question.conversation)).toEqual(['c1', 'c2', 'c2']);
  });

  test('the history that changed with it is told after it', async () => {
    const { fake, asker, posted } = setUp();
    void asker.ask({ text: 'q' });
    await tick();
    fake.at(0).end();
    asker.changedHistory();
    await tick();
    expect(posted.map(({ type }) => type)).toEqual(['started', 'finished', 'history']);
  });

  test('a service that fails leaves no answer hanging', async () => {
    const { fake, asker, posted } = setUp();
    fake.ask = () => Promise.reject(new Error('disk full'));
    expect(await asker.ask({ text: 'q' })).toMatchObject({ outcome: 'failed', error: 'disk full', question: 'q', asked: { text: 'q' } });
    expect(posted.at(-1)).toMatchObject({ type: 'finished', exchange: { error: 'disk full' } });
    expect(asker.replay()).toHaveLength(1);
  });

  test.each([['code', 'Explain a.py:3'], ['usage', 'How is a.py:3 used?'], ['impact', 'What would break if a.py:3 changed?'], ['why', 'Why is a.py:3 so?'], ['diagnostic', 'Explain the problem in a.py:3']] as const)('about %s reads as words at once', async (about, words) => {
    const { asker, posted } = setUp();
    void asker.ask({ about, place: { uri: 'file:///a.py', label: 'a.py:3' } });
    await tick();
    expect(posted[0]).toMatchObject({ type: 'started', question: words });
  });
});
