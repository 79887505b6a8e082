import { describe, expect, test } from 'vitest';
import { UserError } from '../../src/server/state';
import { budgetIn, questionIn } from '../../src/tools/arguments';
import { fitted, written, type Piece } from '../../src/tools/fitting';

const pieces: Piece[] = ['a', 'b', 'c', 'd'].map((name) => ({ place: `${name}.py:1-2`, text: `def ${name}():\n    é`, tokens: 8 }));
const bytes = (text: string): number => Buffer.byteLength(text);

describe('fitted', () => {
  test('everything, best first, then the notes', async () => {
    expect(await fitted(pieces.slice(0, 2), ['the index is incomplete'], { budget: 1000 })).toBe(
      'a.py:1-2\ndef a():\n    é\n\nb.py:1-2\ndef b():\n    é\n\nNote: the index is incomplete',
    );
  });

  test.each(Array.from({ length: 120 }, (_, budget) => budget))('never more than %i tokens, and as much as fits', async (budget) => {
    const text = await fitted(pieces, ['note'], { budget });
    const cost = (count: number): number => 8 * count + bytes(written(pieces.slice(0, count).map((piece) => ({ ...piece, text: '' })), ['note']));
    const most = [4, 3, 2, 1].find((count) => cost(count) <= budget);
    expect(text).toBe(most && written(pieces.slice(0, most), ['note']));
  });

  test.each([0, 20, 30, 60, 90, 1000])('nor more than the caller has: %i', async (budget) => {
    const text = await fitted(pieces, [], { budget: 10_000, caller: { budget, count: (one) => Promise.resolve(bytes(one)) } });
    const most = [4, 3, 2, 1].find((count) => bytes(written(pieces.slice(0, count), [])) <= budget);
    expect(text).toBe(most && written(pieces.slice(0, most), []));
  });
});

describe('arguments', () => {
  test('are taken', () => {
    expect(questionIn({ question: 'where?' })).toBe('where?');
    expect(budgetIn({ budget: 100 })).toBe(100);
    expect(budgetIn({})).toBe(2000);
  });

  test.each([undefined, null, 7, {}, { question: ' ' }, { question: 7 }])('a missing question is refused: %j', (input) => {
    expect(() => questionIn(input)).toThrow(UserError);
  });

  test.each([0, 99, 20_001, 1.5, '500', null, NaN])('a budget out of range is refused: %j', (budget) => {
    expect(() => budgetIn({ budget })).toThrow(/from 100 to 20000/);
  });
});
