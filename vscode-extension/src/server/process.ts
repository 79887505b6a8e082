/** Child processes that end reliably, with everything they started. */
import { spawn, type ChildProcessWithoutNullStreams, type SpawnOptionsWithoutStdio } from 'node:child_process';

const GRACE_MS = 3000;

/** A child with a process group of its own. */
export function start(command: string, args: readonly string[], options: SpawnOptionsWithoutStdio = {}): ChildProcessWithoutNullStreams {
  return spawn(command, args, { ...options, detached: !isWindows(), windowsHide: true });
}

/** Whether the child ends by itself in this time. */
export async function endsWithin(child: ChildProcessWithoutNullStreams, ms: number): Promise<boolean> {
  if (hasEnded(child)) return true;
  return new Promise((resolve) => {
    const timer = setTimeout(() => { resolve(false); }, ms);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

/** Resolves once the child has ended: by itself, by the signal `first`, or killed after a while. Never rejects. */
export async function end(child: ChildProcessWithoutNullStreams, first: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (hasEnded(child)) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => { resolve(); }));
  signal(child, first);
  const timer = setTimeout(() => { signal(child, 'SIGKILL'); }, GRACE_MS);
  await ended;
  clearTimeout(timer);
}

export function hasEnded(child: ChildProcessWithoutNullStreams): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Resolves with the exit code, or rejects if the command cannot be started. */
export function exitCode(child: ChildProcessWithoutNullStreams): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}

/** Run a command to its end. Rejects if it cannot be started. */
export async function output(command: string, args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = start(command, args);
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (data: Buffer) => { said.stdout += data.toString(); });
  child.stderr.on('data', (data: Buffer) => { said.stderr += data.toString(); });
  return { code: await exitCode(child), ...said };
}

function isWindows(): boolean {
  return process.platform === 'win32';
}

/** Windows has neither process groups nor signals: the whole tree is ended at once. */
function signal(child: ChildProcessWithoutNullStreams, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  if (isWindows()) {
    const kill = spawn('taskkill', ['/PID', String(child.pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true });
    kill.once('error', () => child.kill(name));
    return;
  }
  try {
    process.kill(-child.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has ended
  }
}
