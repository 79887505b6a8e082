import { expect, test } from 'vitest';
import { commandLine, type Value } from '../../src/agents/options';

const reading = (values: Record<string, Value>) => (name: string): Value => values[name] ?? { value: 'usual', usual: 'usual' };

test('what is at its default is left to the program', () => {
  const usual = { 'files.include': { value: [], usual: [] }, 'targetContext': { value: null, usual: null } };
  expect(commandLine(reading(usual))).toEqual(['mcp']);
});

test('what is not becomes options, lists one for each', () => {
  const changed = {
    'drafter': { value: 'smollm2-135m', usual: 'qwen' },
    'patience': { value: 0.5, usual: 10 },
    'cacheMegabytes': { value: 30, usual: 6000 },
    'files.exclude': { value: ['*.md', '--help'], usual: [] },
  };
  expect(commandLine(reading(changed))).toEqual([
    'mcp', '--drafter=smollm2-135m', '--set=patience=0.5', '--set=files.exclude=*.md', '--set=files.exclude=--help',
    '--set=cacheMegabytes=30',
  ]);
});

test('a setting that is unset is no option', () => {
  expect(commandLine(reading({ target: { value: null, usual: 'qwen' } }))).toEqual(['mcp']);
});
