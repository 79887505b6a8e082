import { expect, test } from 'vitest';
import { commandLine } from '../../src/agents/options';

test('settings that were changed become options, each item of a list its own', () => {
  const changed: Record<string, unknown> = { 'drafter': 'smollm2-135m', 'patience': 0.5, 'budget': '5%', 'files.exclude': ['*.md', '--help'], 'target': null };
  expect(commandLine((name) => changed[name])).toEqual([
    'mcp', '--set=drafter=smollm2-135m', '--set=budget=5%', '--set=patience=0.5', '--set=files.exclude=*.md', '--set=files.exclude=--help',
  ]);
});
