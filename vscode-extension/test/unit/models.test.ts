import { expect, test } from 'vitest';
import { describeStep, missing, percentDone, readStep, type Model } from '../../src/models/steps';

const MODELS: Model[] = [
  { name: 'small', roles: ['target'], bytes: 100_000_000, licence: 'MIT', state: 'missing' },
  { name: 'large', roles: ['target'], bytes: 300_000_000, licence: 'MIT', state: 'damaged' },
  { name: 'here', roles: ['target'], bytes: 50, licence: 'MIT', state: 'ok' },
];

test('what is wanted, known and not whole is missing', () => {
  expect(missing(MODELS, ['large', 'here', '/models/own.gguf']).map((model) => model.name)).toEqual(['large']);
});

test.each([
  ['{"model": "small", "stage": "small from a hub", "done": 50000000, "total": 100000000}', 12.5, 'small from a hub, 50 MB of 100 MB'],
  ['{"model": "small", "file": "/models/small.gguf"}', 25, 'small is here'],
  ['{"model": "large", "stage": "large from a hub", "done": 150000000, "total": 300000000}', 62.5, 'large from a hub, 150 MB of 300 MB'],
  ['{"model": "large", "file": "/models/large.gguf"}', 100, 'large is here'],
])('progress over all models: %s', (line, percent, words) => {
  const step = readStep(line);
  expect(percentDone(MODELS.slice(0, 2), step)).toBe(percent);
  expect(describeStep(step)).toBe(words);
});
