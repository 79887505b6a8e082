import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { pageHtml, policy } from '../../src/ask/page';
import { readinessOf } from '../../src/ask/readiness';
import type { Status } from '../../src/server/protocol';
import type { ServerState } from '../../src/server/state';
import { duration, progressShare, stages, thoughtFor } from '../../src/figures';

const PARTS = { source: 'https://*.vscode-cdn.net', script: 'https://x/ask.js', style: 'https://x/ask.css', nonce: 'abc' };

describe('the page', () => {
  test('its policy starts from nothing and has no way around it', () => {
    const directives = new Map(policy(PARTS).split('; ').map((directive) => [directive.split(' ')[0], directive] as const));
    expect(directives.get('default-src')).toBe("default-src 'none'");
    expect(directives.get('script-src')).toBe("script-src 'nonce-abc'");
    expect(directives.get('trusted-types')).toBe("trusted-types 'none'");
    expect(policy(PARTS)).not.toMatch(/unsafe|data:|blob:|https?: |\*(?!\.vscode-cdn)/);
  });

  test('has one script, one style sheet and nothing inline', () => {
    const html = pageHtml(PARTS);
    expect(html.match(/<script[^>]*>/g)).toEqual(['<script nonce="abc" src="https://x/ask.js">']);
    expect(html).toContain('<script nonce="abc" src="https://x/ask.js"></script>');
    expect(html).not.toMatch(/<style|style=|\son\w+=/);
  });

  test('its script never makes markup from strings', () => {
    const files = readdirSync('src/ask/webview', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    expect(files.length).toBeGreaterThan(20);
    for (const file of files)
      expect(readFileSync(`src/ask/webview/${file}`, 'utf8'), file).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTML|eval\(|new Function|fetch\(|XMLHttpRequest|WebSocket/);
  });
});

describe('figures', () => {
  test('stages in order with their shares; those that took no time are left out', () => {
    const stats = { workspaceTokens: 0, keptTokens: 0, budgetTokens: 0, answerProbability: 0, promptTokens: 0, reusedTokens: 0, decodeTokens: 0, decodeTokensPerSecond: 0, stages: { load_target: 0, score: 0.5, prefill: 1.5, brand_new: 2 } };
    expect(stages(stats)).toEqual([{ name: 'Scoring code', seconds: 0.5, share: 0.125 }, { name: 'Reading the prompt', seconds: 1.5, share: 0.375 }, { name: 'Brand new', seconds: 2, share: 0.5 }]);
  });

  test.each([[0.0314, '31 ms'], [1.304, '1.30 s'], [12.34, '12.3 s'], [59.97, '60.0 s'], [119.6, '2 min 0 s'], [83, '1 min 23 s']])('%d seconds are %s', (seconds, text) => { expect(duration(seconds)).toBe(text); });

  test.each([['reading 512 of 2,900 tokens', 512 / 2900], ['indexing 300 of 300 files', 1], ['5 of 4 files', 1], ['answering', undefined], ['0 of 0 files', undefined]])('%s', (message, share) => { expect(progressShare(message)).toBe(share); });
});

describe('readiness', () => {
  const model = { name: 'm', state: 'ready' as const };
  const status = { state: 'ready' as const, message: 'ready', index: { done: 1, total: 1, tokens: 1, totalTokens: 1, staleFiles: 0 }, models: { drafter: model, target: model }, questions: { running: 0, waiting: 0 }, memoryBytes: 1 };
  const server = { kind: 'running' as const, command: 'winnow', source: 'PATH', version: '1' };

  test('a server that can answer needs no words', () => {
    for (const state of ['ready', 'stale', 'answering', 'indexing', 'loading'] as const) expect(readinessOf(server, { ...status, state })).toBeUndefined();
  });

  test('a start is told, and blocks nothing', () => {
    expect(readinessOf({ kind: 'starting', command: 'winnow', source: 'PATH' }, undefined)).toMatchObject({ blocked: false });
  });

  test('what stands in the way comes with what to do', () => {
    const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { contributes: { commands: { command: string }[] } };
    const known = ['workbench.trust.manage', 'vscode.openFolder', 'winnow.showOutput', 'winnow.chooseModels', ...manifest.contributes.commands.map(({ command }) => command)];
    const failed = (kind: string) => ({ ...status, state: 'error' as const, models: { drafter: model, target: { ...model, state: 'failed' as const, error: 'x', kind } } });
    const first = (state: ServerState, of?: Status): string | undefined => readinessOf(state, of)?.actions[0]?.command;
    expect(first({ kind: 'folderless' })).toBe('vscode.openFolder');
    expect(first(server, failed('ModelNotFoundError'))).toBe('winnow.pullModels');
    expect(first(server, failed('TargetUnreachableError'))).toBe('winnow.chooseModels');
    const states: ServerState[] = [{ kind: 'stopped' }, { kind: 'untrusted' }, { kind: 'folderless' }, { kind: 'missing', message: 'm' }, { kind: 'failed', message: 'm' }];
    for (const one of [...states.map((state) => readinessOf(state, undefined)), readinessOf(server, failed('DraftError')), readinessOf(server, { ...status, state: 'error' })]) {
      expect(one?.actions.length).toBeGreaterThan(0);
      for (const { command } of one?.actions ?? []) expect(known).toContain(command);
    }
  });
});

test('a thought says how long it took', () => {
  expect(thoughtFor({ text: 'Hm.', seconds: 12.41, tokens: 1340 })).toBe('Thought for 12.4 s (1,340 tokens)');
});
