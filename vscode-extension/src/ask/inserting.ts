/** Where and how code of an answer is inserted: on lines of its own, indented as the code around it. */
import { lastLine } from '../lines';
import type { Range } from './contract';

export interface Insertion {
  /** The line to insert before, zero-based. */
  line: number;
  /** How many lines the text replaces, from that line on. */
  replaced: number;
  /** Ends with a line break. */
  text: string;
}

/**
 * The insertion at a selection, which may be only a cursor: in place of its lines if they have no text outside of it,
 * else below them. `unit` is one level of indentation.
 */
export function insertion(code: string, lines: readonly string[], selection: Range, unit: string): Insertion {
  const [first, last] = [selection.start.line, lastLine(selection)];
  const replaced = coversText(lines, selection) ? last + 1 - first : 0;
  const old = lines.slice(first, first + replaced).find((line) => line.trim() !== '');
  const indent = old === undefined ? indentAt(lines, last) : indentOf(old);
  return { line: last + 1 - replaced, replaced, text: `${reindented(code, indent, unit).join('\n')}\n` };
}

/** Whether all text of the selection's lines is selected. */
function coversText(lines: readonly string[], selection: Range): boolean {
  const { start, end } = selection;
  const before = lines[start.line]?.slice(0, start.character) ?? '';
  const after = lastLine(selection) < end.line ? '' : (lines[end.line]?.slice(end.character) ?? '');
  return before.trim() === '' && after.trim() === '';
}

/** Lines without their common indentation, after `indent`, with levels of the code's own as `unit`s. */
export function reindented(code: string, indent: string, unit: string): string[] {
  const lines = code.replace(/\s+$/, '').split('\n');
  const filled = lines.filter((line) => line.trim() !== '');
  const common = Math.min(...filled.map((line) => widthOf(line)));
  const indented = withoutStars(filled).map((line) => widthOf(line) - common);
  const step = Math.min(8, ...indented.filter((width) => width > 0));
  const level = (line: string): string => {
    const width = widthOf(line) - common;
    return unit.repeat(Math.floor(width / step)) + ' '.repeat(width % step);
  };
  return lines.map((line) => (line.trim() === '' ? '' : indent + level(line) + line.trimStart()));
}

/** Lines without those in block comments, of C or OCaml, that begin with a star: they are aligned with the first one. */
function withoutStars(lines: readonly string[]): string[] {
  let inside = false;
  return lines.filter((line) => {
    const aligned = inside && /^\s*\*/.test(line);
    inside = (inside || /^\s*(?:\/\*|\(\*[*\s])/.test(line)) && !/\*[/)]/.test(line);
    return !aligned;
  });
}

/** The indentation at the cursor: that of its line, or of the next line above that has text; deeper after `:` or `{`. */
function indentAt(lines: readonly string[], cursor: number): string {
  const blank = lines[cursor]?.trim() === '';
  if (blank && lines[cursor] !== '') return lines[cursor] ?? '';
  const near = lines.slice(0, cursor + 1).findLast((line) => line.trim() !== '') ?? '';
  const own = indentOf(near);
  const below = lines.slice(cursor + 1).find((line) => line.trim() !== '') ?? '';
  const deeper = indentOf(below);
  return /[:{([]\s*$/.test(near) && deeper.length > own.length ? deeper : own;
}

/** Leading white space. */
function indentOf(line: string): string {
  return /^\s*/.exec(line)?.[0] ?? '';
}

/** Columns of leading white space; a tab counts as four. */
function widthOf(line: string): number {
  return indentOf(line).replaceAll('\t', '    ').length;
}
