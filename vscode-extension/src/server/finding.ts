/** Finds the `winnow` command. Free of VS Code, so that tests need none. */
import * as path from 'node:path';

export interface Found {
  command: string;
  /** Where it was found, for people. */
  source: string;
}

/** Facts about the machine that finding needs. */
export interface Machine {
  /** The setting winnow.server.path. */
  configured: string;
  home: string;
  /** Values of `PATH`, split. */
  path: readonly string[];
  /** The virtual environment that this extension made, or would make. */
  environment: string;
  windows: boolean;
  isExecutable: (file: string) => Promise<boolean>;
  /** The Python of the workspace, as the Python extension knows it. */
  python: () => Promise<string | undefined>;
}

/** The setting names a command that does not exist. Another one would be a surprise. */
export class ConfiguredServerError extends Error {}

/** The first `winnow` found, or undefined. */
export async function findServer(machine: Machine): Promise<Found | undefined> {
  if (machine.configured !== '') return configured(machine);
  for (const [source, directory] of await directories(machine)) {
    const command = path.join(directory, executable(machine.windows));
    if (await machine.isExecutable(command)) return { command, source };
  }
  return undefined;
}

/** The directory of a virtual environment that holds its commands. */
export function scripts(environment: string, windows: boolean): string {
  return path.join(environment, windows ? 'Scripts' : 'bin');
}

export function executable(windows: boolean): string {
  return windows ? 'winnow.exe' : 'winnow';
}

async function configured(machine: Machine): Promise<Found> {
  const command = machine.configured.replace(/^~(?=[/\\])/, machine.home);
  if (!path.isAbsolute(command)) throw new ConfiguredServerError(`winnow.server.path is not absolute: ${command}`);
  if (await machine.isExecutable(command)) return { command, source: 'winnow.server.path' };
  throw new ConfiguredServerError(`winnow.server.path names no program that can be run: ${command}`);
}

async function directories(machine: Machine): Promise<[source: string, directory: string][]> {
  const python = await machine.python();
  return [
    ...(python === undefined ? [] : [['the active Python environment', path.dirname(python)] as [string, string]]),
    ...machine.path.filter((directory) => path.isAbsolute(directory)).map((directory): [string, string] => ['PATH', directory]),
    ['the environment of this extension', scripts(machine.environment, machine.windows)],
  ];
}
