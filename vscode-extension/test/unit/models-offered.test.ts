import { expect, test, vi } from 'vitest';
import type { ModelState, Status } from '../../src/server/protocol';
import type { Session } from '../../src/server/session';

const listed = vi.hoisted(() => vi.fn(() => Promise.resolve([])));
vi.mock('vscode', () => ({ Disposable: { from: () => undefined }, commands: { registerCommand: () => undefined } }));
vi.mock('../../src/settings', () => ({ settings: () => ({ drafter: 'small', target: 'large' }) }));
vi.mock('../../src/telling', () => ({ telling: (work: () => Promise<void>) => work() }));
vi.mock('../../src/models/pulling', () => ({ listModels: listed }));
const { registerModels } = await import('../../src/models/register');

const HERE: ModelState = { name: 'small', state: 'ready' };
const MISSING: ModelState = { name: 'large', state: 'failed', kind: 'ModelNotFoundError' };

test('the models are listed once for each failure, however often it is reported', () => {
  let report: (models: Status['models']) => void = () => undefined;
  const session = {
    state: { kind: 'running', command: 'winnow' },
    onDidReport: (listener: (status: Status) => void) => { report = (models) => { listener({ models } as Status); }; },
  };
  registerModels(session as unknown as Session, () => Promise.resolve(undefined), undefined as never);
  const lists = (drafter: ModelState, target: ModelState): number => {
    report({ drafter, target });
    return listed.mock.calls.length;
  };
  expect([lists(HERE, MISSING), lists(HERE, { ...MISSING }), lists(HERE, MISSING)]).toEqual([1, 1, 1]);
  expect(lists(HERE, { ...MISSING, kind: 'ModelDamagedError' })).toBe(2);
  expect(lists(HERE, { ...MISSING, kind: 'TargetUnreachableError' })).toBe(2);
  expect(lists(HERE, { ...MISSING, kind: 'ModelDamagedError' })).toBe(3);
  expect(lists(HERE, { ...HERE, name: 'large' })).toBe(3);
  expect(lists({ ...MISSING, name: 'small' }, MISSING)).toBe(4);
});
