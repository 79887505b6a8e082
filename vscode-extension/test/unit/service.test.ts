import { beforeEach, expect, test, vi } from 'vitest';
import type { CancellationToken } from 'vscode';
import type { AskListener, SpanInfo } from '../../src/ask/contract';
import type { AskParams, AskResult } from '../../src/server/protocol';
import type { Session } from '../../src/server/session';
import { History } from '../../src/asking/history';

const send = vi.hoisted(() => vi.fn<(client: unknown, params: AskParams, listener: AskListener) => Promise<AskResult>>());
vi.mock('vscode', () => ({ EventEmitter: class { fire = (): undefined => undefined; } }));
vi.mock('../../src/asking/places', () => ({ atCommit: () => undefined, cursorIn: () => undefined }));
vi.mock('../../src/asking/requests', () => ({ sendAsk: send, reason: String, wasStopped: () => false }));
const { Service } = await import('../../src/asking/service');

const RESULT = { question: 'Worded?', answer: 'Up.', citations: [], sentences: [], spans: [], notices: [] } as unknown as AskResult;
const TOKEN = { isCancellationRequested: false } as CancellationToken;

function listener(kept: AskListener['kept'] = () => undefined): AskListener {
  return { kept, delta: () => undefined, progress: () => undefined };
}

let service: InstanceType<typeof Service>;
beforeEach(() => {
  const session = { ready: () => Promise.resolve({}) } as unknown as Session;
  service = new Service(session, new History({ get: () => undefined, update: () => Promise.resolve() }));
});

test('code that was found by names and words alone is told as provisional', async () => {
  const spans = [{ name: 'total' }] as SpanInfo[];
  send.mockImplementation((_client, _params, to) => { to.kept(spans, true); to.kept(spans, false); return Promise.resolve(RESULT); });
  const told: unknown[] = [];
  await service.ask({ text: 'q' }, listener((...all) => { told.push(all); }), TOKEN);
  expect(told).toEqual([[spans, true], [spans, false]]);
});

test('an exchange keeps what the user asked, whatever the server made of it', async () => {
  send.mockResolvedValueOnce(RESULT).mockRejectedValueOnce(new Error('no model'));
  const problem = { about: 'diagnostic' as const, diagnostics: [{ message: 'unused' }] };
  expect(await service.ask({ text: '@when was it opened?' }, listener(), TOKEN)).toMatchObject({ outcome: 'answered', question: 'Worded?', asked: { text: '@when was it opened?' } });
  expect(await service.ask(problem, listener(), TOKEN)).toMatchObject({ outcome: 'failed', asked: problem });
});
