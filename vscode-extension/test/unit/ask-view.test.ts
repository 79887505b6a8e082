import { expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';
import type { HostMessage, PageMessage } from '../../src/ask/contract';
import type { Service } from '../../src/asking/service';
import type { Session } from '../../src/server/session';

vi.mock('vscode', () => {
  const nothing = (): undefined => undefined;
  const event = (): { dispose(): undefined } => ({ dispose: nothing });
  const window = { registerWebviewViewProvider: event, onDidChangeActiveTextEditor: event, onDidChangeTextEditorSelection: event };
  return { window, commands: { executeCommand: nothing }, Uri: { joinPath: (_: unknown, name: string) => name }, CancellationTokenSource: class { token = {}; } };
});
vi.mock('../../src/server/protocol', () => ({ StartersRequest: {}, PrepareRequest: {}, SymbolsRequest: {} }));
const { AskView } = await import('../../src/ask/view');

/** A view, the extension's side of it, and what its page got. */
function setUp(): { ask: InstanceType<typeof AskView>; page: { got: HostMessage[]; say: (message: PageMessage) => void }; turn: (visible: boolean) => void } {
  const got: HostMessage[] = [];
  let say: (message: PageMessage) => void = () => undefined;
  let turned = (): void => undefined;
  const webview = {
    cspSource: '', html: '', options: {}, asWebviewUri: String,
    onDidReceiveMessage: (listener: typeof say) => { say = listener; },
    postMessage: (message: HostMessage) => { got.push(message); },
  };
  const view = { webview, visible: true, onDidChangeVisibility: (listener: typeof turned) => { turned = listener; }, onDidDispose: () => undefined };
  const event = (): { dispose(): undefined } => ({ dispose: () => undefined });
  const ask = new AskView('dist' as unknown as vscode.Uri, { onDidChangeHistory: event, history: () => [] } as unknown as Service,
    { state: { kind: 'stopped' }, onDidChange: event, onDidReport: event } as unknown as Session, () => Promise.resolve());
  ask.resolveWebviewView(view as unknown as vscode.WebviewView);
  return { ask, page: { got, say: (message) => { say(message); } }, turn: (visible) => { view.visible = visible; turned(); } };
}

test('the text of a command waits while the view is hidden, and its next page gets it once', async () => {
  const { ask, page, turn } = setUp();
  page.say({ type: 'ready' });
  expect(page.got.splice(0)[0]?.type).toBe('readiness');
  turn(false);
  await ask.show('@changes ');
  expect(page.got).toEqual([]);
  turn(true);
  page.say({ type: 'ready' });
  page.say({ type: 'ready' });
  expect(page.got.filter(({ type }) => type === 'focus')).toEqual([{ type: 'focus', text: '@changes ' }]);
});
