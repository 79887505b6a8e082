/** Checks whether a program is the server's. Free of VS Code, so that tests need none. */
import { end, exitCode, start } from './process';

const LONGEST_MS = 15_000;

/** Why a program is not `winnow`, by what it says to `--version`; undefined if it is. */
export async function whyNotWinnow(program: string, longestMs = LONGEST_MS): Promise<string | undefined> {
  const child = start(program, ['--version']);
  const timer = setTimeout(() => void end(child, 'SIGKILL'), longestMs);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => { said += data.toString(); });
  child.stdin.on('error', () => undefined).end();
  try {
    const code = await exitCode(child);
    if (code === 0 && /^winnow\b.*\d/.test(said)) return undefined;
    const last = said.trim().split('\n').at(-1);
    return `${program} is not the winnow program${last ? `: --version printed “${last.slice(0, 120)}”` : ''}.`;
  } catch (error) {
    return `${program} cannot be run: ${error instanceof Error ? error.message : String(error)}.`;
  } finally {
    clearTimeout(timer);
  }
}
