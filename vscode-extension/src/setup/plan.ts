/** The commands that make the environment. */

type Command = readonly [command: string, ...args: string[]];

/**
 * `bin` is the environment's directory of commands; `builder` is .ci/llama/build.py, which finds or fetches a compiler
 * and installs llama.cpp; `requirement` is what pip installs: a name, a wheel or a folder.
 */
export function commands(python: string, environment: string, bin: string, builder: string, requirement: string): Command[] {
  return [
    [python, '-m', 'venv', environment],
    [`${bin}/python`, builder],
    [`${bin}/python`, '-m', 'pip', 'install', '--disable-pip-version-check', '--progress-bar', 'off', requirement],
    [`${bin}/winnow`, '--version'],
  ];
}

/** The default of `winnow.server.package`. */
const PUBLISHED = 'winnow-lsp';

/** The requirement for pip: the setting or, at its default, the wheel among the files in the package. */
export function requirement(setting: string, folder: string, files: readonly string[]): string {
  const wheel = files.find((file) => file.endsWith('.whl'));
  return setting === PUBLISHED && wheel !== undefined ? `${folder}/${wheel}` : setting;
}

/** Whether a Python that printed `version`, such as `Python 3.11.2`, is new enough. */
export function isNewEnough(version: string): boolean {
  const [, major, minor] = /^Python (\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 3 || (Number(major) === 3 && Number(minor) >= 11);
}
