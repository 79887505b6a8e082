import { lastLine } from '../../lines';
import type { CitationLink, KeptLink, Location } from '../contract';

/** Targets for links in an answer: lines that the server checked, and kept code by its lines and its name. */
export interface Openable {
  links: readonly CitationLink[];
  kept: readonly KeptLink[];
}

/** A piece of text, with the lines it opens if it names some. */
export interface Segment {
  text: string;
  location?: Location;
}

const LINES = String.raw`(?::(\d{1,7})(?:\s*[-–]\s*(\d{1,7}))?|#L(\d{1,7})(?:-L?(\d{1,7}))?)`;
const WHOLE = new RegExp(String.raw`^(.+?)${LINES}$`);
const NUMBERS = new RegExp(LINES, 'g');
/** Characters that end a path in prose, to its left, unless it is known. */
const EDGE = /[\s:`'"()<>,*#]/;
const LONGEST_PATH = 260;
const NAME = /^([A-Za-z_$][\w$.]*(?:::\w+)*)(?:\(.*\))?$/;

/** The lines that a code span or a link's target names: `path:line`, `path:first-last`, `path#Lline`, a name, or a kept file. */
export function locate(text: string, openable: Openable): Location | undefined {
  return byPlace(text, openable) ?? byName(text, openable) ?? byFile(text.trim(), openable);
}

/** Text cut into segments where it names lines. With `grows`, the last line number may not be complete yet. */
export function segments(text: string, openable: Openable, grows = false): Segment[] {
  const found: Segment[] = [];
  let end = 0;
  let odd: readonly string[] | undefined;
  for (const { index, 0: numbers } of text.matchAll(NUMBERS)) {
    odd ??= pathsOf([...openable.links, ...openable.kept].filter((link) => EDGE.test(pathOf(link)))).filter((path) => EDGE.test(path));
    const next = index + numbers.length;
    if (grows && next === text.length) continue;
    for (const start of [...knownStarts(text, index, odd), pathStart(text, index)]) {
      const place = text.slice(start, next);
      const location = start < end ? undefined : byPlace(place, openable);
      if (!location) continue;
      found.push({ text: text.slice(end, start) }, { text: place, location });
      end = next;
    }
  }
  return [...found, { text: text.slice(end) }].filter((segment) => segment.text !== '');
}

/** The start of the path that ends before `end`. A single regular expression would take quadratic time. */
function pathStart(text: string, end: number): number {
  let start = end;
  while (start > 0 && end - start < LONGEST_PATH && !EDGE.test(text.charAt(start - 1))) start -= 1;
  return start;
}

/** The starts of those of these paths that end before `end`, the longest first. */
function knownStarts(text: string, end: number, paths: readonly string[]): number[] {
  const before = text.slice(Math.max(0, end - LONGEST_PATH), end).replaceAll('\\', '/');
  const starts = paths.filter((path) => before.endsWith(path)).map((path) => end - path.length);
  return starts.filter((start) => start === 0 || EDGE.test(text.charAt(start - 1))).sort((a, b) => a - b);
}

/** The paths of links, each whole and from each of its folders on. */
export function pathsOf(links: readonly CitationLink[]): string[] {
  const folders = [...new Set(links.map(pathOf))].map((path) => path.split('/'));
  return folders.flatMap((names) => names.map((_, index) => names.slice(index).join('/')));
}

/** A web address that the user may be asked to open; nothing else leaves the view. */
export function webAddress(href: string): string | undefined {
  if (!/^https?:\/\//i.test(href) || !URL.canParse(href)) return undefined;
  return new URL(href).href;
}

function byPlace(text: string, { links, kept }: Openable): Location | undefined {
  const match = WHOLE.exec(text.trim());
  if (!match?.[1]) return undefined;
  const path = match[1].replaceAll('\\', '/').replace(/^\.\//, '');
  const start = Number(match[2] ?? match[4]) - 1;
  const end = Number(match[3] ?? match[5] ?? start + 1) - 1;
  const link = [...links, ...kept].find((one) => isPath(one, path) && covers(one.location, start, end));
  return link && { uri: link.location.uri, range: { start: { line: start, character: 0 }, end: { line: end + 1, character: 0 } } };
}

/** The start of a kept file. */
function byFile(path: string, { kept }: Openable): Location | undefined {
  const found = path.includes('.') ? (kept.find((one) => pathOf(one) === path) ?? kept.find((one) => isPath(one, path))) : undefined;
  return found && { uri: found.location.uri, range: { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } } };
}

function pathOf(link: CitationLink): string {
  return link.label.replace(/:\d+(-\d+)?$/, '').replaceAll('\\', '/');
}

function isPath(link: CitationLink, path: string): boolean {
  const whole = pathOf(link);
  return whole === path || whole.endsWith(`/${path}`);
}

export function covers({ range }: Location, start: number, end: number): boolean {
  return range.start.line <= start && start <= end && end <= lastLine(range);
}

/** The only kept code with this name, whole or by its last part. */
function byName(text: string, { kept }: Openable): Location | undefined {
  const name = NAME.exec(text.trim())?.[1];
  if (name === undefined) return undefined;
  const named = kept.filter((one) => one.name === name);
  const ending = named.length ? named : kept.filter((one) => one.name.endsWith(`.${name}`));
  return ending.length === 1 ? ending[0]?.location : undefined;
}
