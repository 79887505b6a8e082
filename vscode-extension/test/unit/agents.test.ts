import { expect, test } from 'vitest';
import { commandLine } from '../../src/agents/options';

const MODELS = { drafter: 'smollm2-135m', target: 'qwen2.5-coder-1.5b' };
const START = ['mcp', '--set=drafter=smollm2-135m', '--set=target=qwen2.5-coder-1.5b'];

test('settings that were changed become options, each item of a list its own', () => {
  const changed: Record<string, unknown> = { 'patience': 0.5, 'budget': '5%', 'files.exclude': ['*.md', '--help'], 'kvType': null };
  expect(commandLine(MODELS, (name) => changed[name])).toEqual([
    ...START, '--set=budget=5%', '--set=patience=0.5', '--set=files.exclude=*.md', '--set=files.exclude=--help',
  ]);
});

test('the models go before those of winnow.toml also where they are the default', () => {
  expect(commandLine(MODELS, () => undefined)).toEqual(START);
});
