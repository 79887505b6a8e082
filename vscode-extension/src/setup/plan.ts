/** The commands that make the environment. */

/**
 * llama.cpp for this machine's compiler, without what Winnow does not use. GGML_NATIVE is off because gcc 12 with it
 * builds a library that crashes on processors with AMX; see .ci/install.
 */
const CMAKE_ARGS = [
  '-DGGML_NATIVE=OFF',
  '-DLLAVA_BUILD=OFF',
  '-DLLAMA_BUILD_TOOLS=OFF',
  '-DLLAMA_BUILD_SERVER=OFF',
  '-DLLAMA_BUILD_EXAMPLES=OFF',
  '-DLLAMA_BUILD_TESTS=OFF',
].join(' ');

type Command = readonly [command: string, ...args: string[]];

/** `bin` is the environment's directory of commands; `requirement` is what pip installs: a name, a wheel or a folder. */
export function commands(python: string, environment: string, bin: string, requirement: string): Command[] {
  return [
    [python, '-m', 'venv', environment],
    [`${bin}/python`, '-m', 'pip', 'install', '--disable-pip-version-check', '--progress-bar', 'off', requirement],
    [`${bin}/winnow`, '--version'],
  ];
}

/** The user's environment; CMAKE_ARGS of the user's own win. */
export function environmentOf(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { CMAKE_ARGS, ...env };
}

/** Whether a Python that printed `version`, such as `Python 3.11.2`, is new enough. */
export function isNewEnough(version: string): boolean {
  const [, major, minor] = /^Python (\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 3 || (Number(major) === 3 && Number(minor) >= 11);
}
