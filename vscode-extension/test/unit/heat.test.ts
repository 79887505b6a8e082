import { describe, expect, test } from 'vitest';
import type { SpanInfo } from '../../src/ask/contract';
import { percent } from '../../src/figures';
import { bar, fileHeats, heatOf, likelihood, lineNumbers } from '../../src/spans/heat';

function span(uri: string, start: [number, number], end: [number, number], score = 0, tokens = 10): SpanInfo {
  const range = { start: { line: start[0], character: start[1] }, end: { line: end[0], character: end[1] } };
  return { location: { uri, range }, score, features: {}, tokens, kind: 'function', name: 'f' };
}

describe('lineNumbers', () => {
  test.each([
    [[2, 0], [4, 0], [2, 3]],
    [[2, 0], [4, 1], [2, 3, 4]],
    [[2, 0], [2, 0], [2]],
  ] as const)('from %o to %o', (start, end, lines) => {
    expect(lineNumbers(span('a', [...start], [...end]))).toEqual(lines);
  });
});

describe('fileHeats', () => {
  test('the file with the likeliest span comes first, its spans in line order, lines counted once', () => {
    const spans = [span('a', [8, 0], [10, 0], -1), span('b', [0, 0], [5, 0], 2), span('a', [0, 0], [2, 0], 1), span('a', [1, 0], [3, 0], 0)];
    const [first, second] = fileHeats(spans, new Map([['a', 20], ['b', 5]]));
    expect(first).toMatchObject({ uri: 'b', share: 1, keptLines: 5, score: 2 });
    expect(second).toMatchObject({ uri: 'a', share: 0.25, keptLines: 5, tokens: 30, score: 1 });
    expect(second?.spans.map((one) => one.location.range.start.line)).toEqual([0, 1, 8]);
  });

  test('a file that cannot be read, or has shrunk since, is kept whole at most', () => {
    const spans = [span('gone', [0, 0], [4, 0]), span('short', [6, 0], [8, 0])];
    expect(fileHeats(spans, new Map([['short', 3]])).map((heat) => heat.share)).toEqual([1, 0.25]);
  });

  test('nothing kept, nothing shown', () => {
    expect(fileHeats([], new Map())).toEqual([]);
  });
});

test('bars show something where there is something, and no more than there is room', () => {
  expect([0, 0.01, 0.34, 1, 2].map((share) => bar(share, 5))).toEqual(['░░░░░', '█░░░░', '██░░░', '█████', '█████']);
});

test('percentages', () => {
  expect([0, 0.004, 0.345, 1].map(percent)).toEqual(['0%', '<1%', '35%', '100%']);
});

test('scores are log-odds', () => {
  expect([0, Math.log(3), -Math.log(3)].map(likelihood)).toEqual([0.5, expect.closeTo(0.75), expect.closeTo(0.25)]);
});

test('heat goes by thirds of the scores of one question', () => {
  const all = [0, 1, 2, 3];
  expect(all.map((score) => heatOf(score, all))).toEqual(['cool', 'warm', 'hot', 'hot']);
  expect(heatOf(-5, [-5])).toBe('hot');
});
