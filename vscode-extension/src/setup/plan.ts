/** The commands that make the environment. */
import { dirname, isAbsolute, join } from 'node:path';

type Command = readonly [command: string, ...args: string[]];

/**
 * `bin` is the environment's directory of commands; `builder` is winnow_llama/build.py, which finds or fetches a compiler
 * and installs llama.cpp; `packages` are arguments of `pip install`.
 */
export function commands(python: string, environment: string, bin: string, builder: string, packages: readonly string[]): Command[] {
  return [
    [python, '-m', 'venv', environment],
    [`${bin}/python`, builder],
    [`${bin}/python`, '-m', 'pip', 'install', '--disable-pip-version-check', '--progress-bar', 'off', ...packages],
    [`${bin}/winnow`, '--version'],
  ];
}

/** The default of `winnow.server.package`. */
const PUBLISHED = 'winnow-lsp';

/** The weights without which the server scores no code, in a source folder. */
const ADAPTER = 'engine/winnow_weights/adapter';

/**
 * The arguments for pip: the setting or, at its default, the server's wheel among the `files` of the extension's `folder`.
 * Weights are taken from a wheel's folder, or from a source folder in which they exist.
 */
export function packages(setting: string, folder: string, files: readonly string[], exists: (path: string) => boolean): string[] {
  const wheel = files.find((file) => /^winnow_lsp-.*\.whl$/.test(file));
  const server = setting === PUBLISHED && wheel !== undefined ? `${folder}/${wheel}` : setting;
  if (!isAbsolute(server)) return [server];
  if (server.endsWith('.whl')) return ['--find-links', dirname(server), server];
  return [server, join(server, ADAPTER)].filter((path) => path === server || exists(path));
}

/** Whether a Python that printed `version`, such as `Python 3.11.2`, is new enough. */
export function isNewEnough(version: string): boolean {
  const [, major, minor] = /^Python (\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 3 || (Number(major) === 3 && Number(minor) >= 11);
}
