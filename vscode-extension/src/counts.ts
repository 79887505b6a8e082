/** Numbers in sentences. */

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** A number with its noun, such as `1 file` or `2,000 files`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}
