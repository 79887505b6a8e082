import { describe, expect, test } from 'vitest';
import { ConfiguredServerError, findServer, type Machine } from '../../src/server/finding';

function machine(programs: string[], more: Partial<Machine> = {}): Machine {
  return {
    configured: '',
    home: '/home/ada',
    path: ['/usr/bin', '/opt/bin'],
    environment: '/storage/environment',
    windows: false,
    isExecutable: (file) => Promise.resolve(programs.includes(file)),
    python: () => Promise.resolve('/project/.venv/bin/python'),
    ...more,
  };
}

const EVERYWHERE = ['/project/.venv/bin/winnow', '/usr/bin/winnow', '/opt/bin/winnow', '/storage/environment/bin/winnow'];

describe('findServer', () => {
  test.each([
    [0, 'the active Python environment'],
    [1, 'PATH'],
    [2, 'PATH'],
    [3, 'the environment of this extension'],
  ])('takes the first there is, from %i', async (first, source) => {
    const programs = EVERYWHERE.slice(first);
    expect(await findServer(machine(programs))).toEqual({ command: programs[0], source });
  });

  test('on Windows the program and the folder of an environment have other names', async () => {
    const programs = ['/opt/bin/winnow', '/storage/environment/Scripts/winnow.exe'];
    const found = await findServer(machine(programs, { windows: true }));
    expect(found).toEqual({ command: programs[1], source: 'the environment of this extension' });
  });

  test('finds nothing where nothing is', async () => {
    expect(await findServer(machine([]))).toBeUndefined();
  });

  test('does without the Python extension', async () => {
    const found = await findServer(machine(EVERYWHERE, { python: () => Promise.resolve(undefined) }));
    expect(found?.command).toBe('/usr/bin/winnow');
  });

  test('leaves out what is relative on PATH, which depends on where one stands', async () => {
    expect(await findServer(machine(['bin/winnow', 'winnow'], { path: ['bin', ''] }))).toBeUndefined();
  });

  test('the setting wins, and ~ is home', async () => {
    const found = await findServer(machine([...EVERYWHERE, '/home/ada/bin/winnow'], { configured: '~/bin/winnow' }));
    expect(found).toEqual({ command: '/home/ada/bin/winnow', source: 'winnow.server.path' });
  });

  test.each(['/nowhere/winnow', 'bin/winnow'])('a setting that names no program is an error, not a reason to take another: %s', async (configured) => {
    await expect(findServer(machine(EVERYWHERE, { configured }))).rejects.toThrow(ConfiguredServerError);
    await expect(findServer(machine(EVERYWHERE, { configured }))).rejects.toThrow(configured);
  });
});
