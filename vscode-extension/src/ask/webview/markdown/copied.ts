import type { ShownExchange } from '../../contract';

/** An answer as Markdown to paste elsewhere: with links to the places that it cites, or else rests on. */
export function withLinks({ answer, links, kept }: ShownExchange): string {
  const places = (links.length > 0 ? links : kept).map(({ label }) => `- [${label}](${addressOf(label)})`);
  return [answer.trim(), ...(places.length > 0 ? [`Places:\n\n${places.join('\n')}`] : [])].join('\n\n');
}

/** `a b.py:3-5` as `a%20b.py#L3-L5`. */
function addressOf(label: string): string {
  const [, path = label, first, last] = /^(.*):(\d+)(?:-(\d+))?$/.exec(label) ?? [];
  return encodeURI(path) + (first === undefined ? '' : `#L${first}`) + (last === undefined ? '' : `-L${last}`);
}
