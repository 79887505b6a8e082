/** Chooses the settings that go to the server. Free of VS Code, so that tests need none. */

/** Names under `winnow.` that are not for the server. In `winnow.winnow`, a workspace could hide all the others. */
const OWN = ['server', 'trace', 'winnow'];
/** Settings that count only as the user's own: `"winnow": {…}` in a workspace's settings gets around their scope. */
const MACHINE = ['drafter', 'target', 'speculate', 'index.shared', 'cacheMegabytes'];

/** What VS Code knows of a setting, by its name after `winnow.`. */
export type Inspect = (name: string) => { defaultValue?: unknown; globalValue?: unknown } | undefined;

/** The settings for the server, by dotted name: without the extension's own, and without defaults. */
export function forwarded(section: unknown, inspect: Inspect): Record<string, unknown> {
  const sent = flat(section).filter(([name]) => !OWN.includes(name.split('.', 1)[0] ?? ''));
  const names = new Set([...sent.map(([name]) => name), ...MACHINE]);
  const given = new Map(sent);
  const changed = [...names].map((name) => [name, changedValue(name, given.get(name), inspect)] as const);
  return Object.fromEntries(changed.filter(([, value]) => value !== undefined));
}

/** The value of a setting; undefined at its default. */
export function changedValue(name: string, value: unknown, inspect: Inspect): unknown {
  const known = inspect(name);
  const own = MACHINE.includes(name) ? known?.globalValue : value;
  return JSON.stringify(own) === JSON.stringify(known?.defaultValue) ? undefined : (own ?? undefined);
}

function flat(section: unknown, prefix = ''): [name: string, value: unknown][] {
  if (typeof section !== 'object' || section === null) return [];
  return Object.entries(section).flatMap(([key, value]: [string, unknown]) => {
    const name = prefix + key;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? flat(value, `${name}.`) : [[name, value]];
  });
}
