/** Turns settings into options of `winnow mcp`. Free of VS Code, so that tests need none. */

/** The settings that `winnow mcp` takes, each as an option. */
const OPTIONS: Readonly<Record<string, string>> = {
  'drafter': '--drafter=',
  'target': '--target=',
  ...Object.fromEntries([
    'targetContext', 'targetPlace', 'kvType', 'speculate', 'budget', 'patience', 'maxTokens', 'thinking', 'files.include', 'files.exclude',
    'index.shared', 'cacheMegabytes',
  ].map((name) => [name, `--set=${name}=`])),
};

/** A setting's value, and its default. */
export interface Value {
  value: unknown;
  usual: unknown;
}

/** The command line for the settings that differ from their defaults. `=` keeps a value from being read as an option. */
export function commandLine(read: (name: string) => Value): string[] {
  const changed = Object.entries(OPTIONS).map(([name, option]) => ({ option, ...read(name) })).filter(({ value, usual }) => !same(value, usual));
  return ['mcp', ...changed.flatMap(({ option, value }) => values(value).map((one) => `${option}${one}`))];
}

function values(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(values);
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : [];
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
