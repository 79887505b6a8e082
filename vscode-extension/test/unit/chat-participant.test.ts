import { expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';
import type { Question } from '../../src/ask/contract';
import type { Service } from '../../src/asking/service';

const { handlers, Uri, Location } = vi.hoisted(() => {
  class Uri {
    constructor(readonly scheme: string, readonly path: string) {}
    static parse(uri: string): Uri { return new Uri('file', uri); }
    toString(): string { return this.path; }
  }
  class Location {
    constructor(readonly uri: Uri, readonly range: unknown) {}
  }
  return { handlers: [] as vscode.ChatRequestHandler[], Uri, Location };
});
vi.mock('vscode', () => ({
  Uri, Location, Disposable: { from: () => undefined },
  chat: { createChatParticipant: (_: string, handler: vscode.ChatRequestHandler) => { handlers.push(handler); return {}; } },
  workspace: { getWorkspaceFolder: ({ path }: { path: string }) => (path.startsWith('/repo/') ? {} : undefined), asRelativePath: String },
}));
vi.mock('../../src/asking/requests', () => ({ reason: String }));
const { registerParticipant } = await import('../../src/chat/participant');

const RANGE = { start: { line: 1, character: 0 }, end: { line: 3, character: 0 } };

/** The place of the question that is asked with these attached. */
async function placeWith(...values: unknown[]): Promise<Question['place']> {
  const asked: Question[] = [];
  const service = { ask: (question: Question) => { asked.push(question); return Promise.resolve({ citations: [], notices: [], outcome: 'answered' }); } };
  registerParticipant(service as unknown as Service, undefined as never, undefined as never, undefined as never);
  const request = { prompt: 'Why?', references: values.map((value) => ({ id: '', value })) };
  await handlers.at(-1)?.(request as unknown as vscode.ChatRequest, { history: [] }, { markdown: () => undefined } as unknown as vscode.ChatResponseStream, {} as vscode.CancellationToken);
  return asked[0]?.place;
}

test('a question in the chat panel is about the first file or selection of the workspace that is attached', async () => {
  const [outside, untitled, inside] = [new Uri('file', '/etc/hosts'), new Uri('untitled', '/repo/new.py'), new Uri('file', '/repo/shop.py')];
  expect(await placeWith(outside)).toBeUndefined();
  expect(await placeWith(new Location(outside, RANGE), untitled, 'words', new Location(inside, RANGE))).toEqual({ uri: '/repo/shop.py', label: '/repo/shop.py:2-3', range: RANGE });
  expect(await placeWith(inside, new Location(inside, RANGE))).toEqual({ uri: '/repo/shop.py', label: '/repo/shop.py', range: undefined });
});
