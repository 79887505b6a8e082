import { expect, test } from 'vitest';
import { choices } from '../../src/models/choices';
import { describeStep, lacking, missing, percentDone, readStep, type Model } from '../../src/models/steps';

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

const OLLAMA = 'http://127.0.0.1:11434/v1#coder:7b';
const FIGURES = { bytes: 9, licence: 'MIT' };
const SUGGESTED = {
  suggested: 'missing',
  targets: [{ name: 'here', here: true, firstTokenS: 7.6, ...FIGURES }, { name: 'unmeasured', here: true, firstTokenS: null, ...FIGURES }, { name: 'missing', here: false, firstTokenS: 1, ...FIGURES }],
  found: [{ model: 'coder:7b', server: 'Ollama 0.33.0', url: OLLAMA }],
};

test.each([
  ['here', [], ['here', 'auto', 'unmeasured', OLLAMA, '']],
  ['auto', [], ['auto', 'here', 'unmeasured', OLLAMA, '']],
  ['http://far/v1', ['http://far/v1', OLLAMA], ['http://far/v1', 'auto', 'here', 'unmeasured', OLLAMA, '']],
  ['/own.gguf', [], ['/own.gguf', 'auto', 'here', 'unmeasured', OLLAMA, '']],
])('%s can be switched for what is here, found, or was used', (current, servers, targets) => {
  const found = choices(SUGGESTED, current, servers);
  expect(found.map(({ target }) => target)).toEqual(targets);
  expect(found.map(({ description }) => description.includes('answers now'))).toEqual(targets.map((target) => target === current));
});

test('names of servers and models draw no icons', () => {
  const found = [{ model: '$(check) best', server: '$(x)', url: 'http://far/v1' }];
  expect(choices({ suggested: null, targets: [], found }, '/$(own).gguf', []).map(({ label, description }) => [label, description])).toEqual([
    ['/\\$(own).gguf', 'answers now'], ['Automatic', 'the best that is here'], ['$(server) \\$(check) best', '\\$(x)'], ['$(gear) A model file or a server…', 'winnow.target'],
  ]);
});

test('without a server of Winnow the setting can still be written', () => {
  expect(choices(undefined, 'here', []).map(({ label }) => label)).toEqual(['here', 'Automatic', '$(gear) A model file or a server…']);
});

const OF_DRAFTER: Model = { name: 'drafter', roles: ['drafter', 'target'], bytes: 5, licence: 'MIT', state: 'ok' };
const USUAL: Model = { ...FIGURES, name: 'qwen2.5-coder-1.5b', roles: ['target'], state: 'missing' };

test.each([
  ['auto', [OF_DRAFTER, ...MODELS], 'missing', []],
  ['auto', [OF_DRAFTER, USUAL], 'missing', ['missing']],
  ['auto', [{ ...OF_DRAFTER, state: 'missing' as const }, USUAL], 'missing', ['drafter', 'missing']],
  ['auto', [OF_DRAFTER, USUAL], 'here', ['qwen2.5-coder-1.5b']],
  ['auto', [OF_DRAFTER, USUAL], null, ['qwen2.5-coder-1.5b']],
  ['large', [OF_DRAFTER, ...MODELS], 'missing', ['large']],
])('of a target %s among %j, %s suggested, is downloaded: %j', async (target, models, suggested, names) => {
  const found = await lacking(models, 'drafter', target, () => Promise.resolve({ ...SUGGESTED, suggested }));
  expect(found.map(({ name }) => name)).toEqual(names);
});
