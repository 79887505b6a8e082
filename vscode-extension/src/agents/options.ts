/** Turns settings into options of `winnow mcp`. Free of VS Code, so that tests need none. */

/** The settings that concern agents. */
const NAMES = [
  'drafter', 'target', 'targetContext', 'targetPlace', 'kvType', 'speculate', 'budget', 'patience', 'maxTokens', 'thinking',
  'files.include', 'files.exclude', 'index.shared', 'cacheMegabytes',
];

/** The value of a setting, or undefined at its default. */
type Read = (name: string) => unknown;

/** The command line for the settings that differ from their defaults. */
export function commandLine(read: Read): string[] {
  return ['mcp', ...NAMES.flatMap((name) => values(read(name)).map((value) => `--set=${name}=${value}`))];
}

function values(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(values);
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : [];
}
