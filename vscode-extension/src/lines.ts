/** Lines of a range. A range that ends at the start of a line does not include that line. */
import type { Range } from './ask/contract';

/** The last line, zero-based. */
export function lastLine({ start, end }: Range): number {
  return end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
}

/** `first-last`, or the only line, counted from 1. */
export function lineLabel(range: Range, dash = '-'): string {
  const [first, last] = [range.start.line + 1, lastLine(range) + 1];
  return first === last ? `${last}` : `${first}${dash}${last}`;
}
