/** Texts with edits. Free of VS Code, so that tests need none. */

/** A replacement of the text between two offsets. */
export interface Replacement {
  start: number;
  end: number;
  text: string;
}

/** The text with replacements that do not overlap, in any order. */
export function edited(text: string, replacements: readonly Replacement[]): string {
  const inOrder = replacements.toSorted((a, b) => a.start - b.start);
  const starts = [0, ...inOrder.map(({ end }) => end)];
  return starts.map((start, index) => text.slice(start, inOrder[index]?.start) + (inOrder[index]?.text ?? '')).join('');
}

/** A title such as ``Fix `total` `` as the name of a tab. */
export function tabTitle(title: string, path: string, rejected: boolean): string {
  return `${rejected ? 'Rejected: ' : ''}${title.replaceAll('`', '')} (${path.split('/').at(-1) ?? path})`;
}
