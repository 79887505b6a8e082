/** Turns settings into options of `winnow mcp`. Free of VS Code, so that tests need none. */

/** Always given: a target of `winnow.toml` may be a server, which would get code. */
const MODELS = ['drafter', 'target'] as const;
/** The other settings that concern agents. */
const NAMES = [
  'targetContext', 'targetPlace', 'kvType', 'speculate', 'budget', 'patience', 'maxTokens', 'thinking',
  'files.include', 'files.exclude', 'index.shared', 'cacheMegabytes',
];

/** The value of a setting, or undefined at its default. */
type Read = (name: string) => unknown;

/** The command line for the models, and for the settings that differ from their defaults. */
export function commandLine(models: Record<(typeof MODELS)[number], string>, read: Read): string[] {
  const changed = NAMES.flatMap((name) => values(read(name)).map((value) => `--set=${name}=${value}`));
  return ['mcp', ...MODELS.map((name) => `--set=${name}=${models[name]}`), ...changed];
}

function values(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(values);
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : [];
}
