/** Cuts a tool's result to its caller's token limits. Free of VS Code, so that tests need none. */

/** Code at a place of the workspace, as a model reads it. */
export interface Piece {
  /** `path:first-last`. */
  place: string;
  text: string;
  /** Of the text, in the drafter's vocabulary. */
  tokens: number;
}

export interface Limits {
  /** Most tokens of the result, in the drafter's vocabulary. */
  budget: number;
  /** The caller's own limit, in tokens of its model. */
  caller?: { budget: number; count: (text: string) => PromiseLike<number> };
}

/** The text of as many of the first pieces as fit the limits, and the notes; undefined if not even one fits. */
export async function fitted(pieces: readonly Piece[], notes: readonly string[], limits: Limits): Promise<string | undefined> {
  let fits = 0;
  let tooMany = pieces.length + 1;
  let middle = pieces.length; // nearly all of them usually fit
  while (tooMany - fits > 1) {
    if (await isWithin(pieces.slice(0, middle), notes, limits)) fits = middle;
    else tooMany = middle;
    middle = Math.floor((fits + tooMany) / 2);
  }
  return fits === 0 ? undefined : written(pieces.slice(0, fits), notes);
}

/** Pieces under their places, a blank line between them, then the notes. */
export function written(pieces: readonly Piece[], notes: readonly string[]): string {
  return [...pieces.map(({ place, text }) => `${place}\n${text}`), ...notes.map((note) => `Note: ${note}`)].join('\n\n');
}

/** Only the server has the drafter's tokenizer; in text that it has not counted, no token is shorter than a byte. */
async function isWithin(pieces: readonly Piece[], notes: readonly string[], { budget, caller }: Limits): Promise<boolean> {
  const frame = written(pieces.map((piece) => ({ ...piece, text: '' })), notes);
  const code = pieces.reduce((sum, { tokens }) => sum + tokens, 0);
  if (code + Buffer.byteLength(frame) > budget) return false;
  return caller === undefined || (await caller.count(written(pieces, notes))) <= caller.budget;
}
