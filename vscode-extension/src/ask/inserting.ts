/** Where and how code of an answer is inserted: on lines of its own, indented as the code around it. */

export interface Insertion {
  /** The line to insert before, zero-based. */
  line: number;
  /** Whether the text replaces that line, which is blank. */
  replaces: boolean;
  /** Ends with a line break. */
  text: string;
}

/** The insertion at a cursor. `unit` is one level of indentation. */
export function insertion(code: string, lines: readonly string[], cursor: number, unit: string): Insertion {
  const current = lines[cursor] ?? '';
  const replaces = current.trim() === '';
  const text = reindented(code, indentAt(lines, cursor), unit).join('\n');
  return { line: replaces ? cursor : cursor + 1, replaces, text: `${text}\n` };
}

/** Lines without their common indentation, after `indent`, with levels of the code's own as `unit`s. */
export function reindented(code: string, indent: string, unit: string): string[] {
  const lines = code.replace(/\s+$/, '').split('\n');
  const filled = lines.filter((line) => line.trim() !== '');
  const common = Math.min(...filled.map((line) => widthOf(line)));
  const step = Math.min(8, ...filled.map((line) => widthOf(line) - common).filter((width) => width > 0));
  const level = (line: string): string => {
    const width = widthOf(line) - common;
    return unit.repeat(Math.floor(width / step)) + ' '.repeat(width % step);
  };
  return lines.map((line) => (line.trim() === '' ? '' : indent + level(line) + line.trimStart()));
}

/** The indentation at the cursor: that of its line, or of the next line above that has text; deeper after `:` or `{`. */
function indentAt(lines: readonly string[], cursor: number): string {
  const blank = lines[cursor]?.trim() === '';
  if (blank && lines[cursor] !== '') return lines[cursor] ?? '';
  const near = lines.slice(0, cursor + 1).findLast((line) => line.trim() !== '') ?? '';
  const own = /^\s*/.exec(near)?.[0] ?? '';
  const below = lines.slice(cursor + 1).find((line) => line.trim() !== '') ?? '';
  const deeper = /^\s*/.exec(below)?.[0] ?? '';
  return /[:{([]\s*$/.test(near) && deeper.length > own.length ? deeper : own;
}

/** Columns of leading white space; a tab counts as four. */
function widthOf(line: string): number {
  return (/^\s*/.exec(line)?.[0] ?? '').replaceAll('\t', '    ').length;
}
