/** The models that may answer, as a list to choose from. */

/** What `winnow.target` says for the best that is installed. */
export const AUTO = 'auto';

/** The parts of `winnow models suggest --json` that are used. */
export interface Suggested {
  suggested: string | null;
  targets: { name: string; here: boolean; firstTokenS: number | null; bytes: number; licence: string }[];
  /** Models on servers of this machine. */
  found: { model: string; server: string; url: string }[];
}

export interface Choice {
  label: string;
  description: string;
  /** What `winnow.target` becomes; empty: the user writes it. */
  target: string;
}

export function isServer(target: string): boolean {
  return /^https?:/.test(target);
}

/** `servers` answered before. The one that answers now comes first. */
export function choices(suggested: Suggested | undefined, current: string, servers: readonly string[]): Choice[] {
  const found = suggested?.found ?? [];
  const here = (suggested?.targets ?? []).filter((one) => one.here).map(({ name, firstTokenS }) => ({ label: plain(name), description: wait(firstTokenS), target: name }));
  const running = found.map(({ model, server, url }) => ({ label: `$(server) ${plain(model)}`, description: plain(server), target: url }));
  const before = servers.filter((url) => found.every((one) => one.url !== url)).map((url) => ({ label: `$(server) ${plain(url)}`, description: '', target: url }));
  const all = [{ label: 'Automatic', description: 'the best that is here', target: AUTO }, ...here, ...running, ...before];
  const known = all.some(({ target }) => target === current) ? all : [{ label: plain(current), description: '', target: current }, ...all];
  const marked = known.map((one) => (one.target === current ? { ...one, description: [one.description, 'answers now'].filter(Boolean).join(', ') } : one));
  const other = { label: '$(gear) A model file or a server…', description: 'winnow.target', target: '' };
  return [...marked.sort((a, b) => Number(b.target === current) - Number(a.target === current)), other];
}

/** A name without icons: VS Code draws one for `$(name)`. */
function plain(name: string): string {
  return name.replaceAll('$(', '\\$(');
}

function wait(seconds: number | null): string {
  return seconds === null ? '' : `first word in about ${seconds.toFixed(0)} s`;
}
