/** Makes the extension's own virtual environment, with `winnow` in it. */
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type * as vscode from 'vscode';
import { scripts } from '../server/finding';
import { end, exitCode, start } from '../server/process';
import { UserError } from '../server/state';
import { commands, failure, type Command, type Packages } from './plan';

/**
 * Run the plan in `environment`; resolves with false if cancelled. An incomplete environment is removed. llama.cpp comes
 * from `index` if that has a wheel for this machine.
 */
export async function install(
  python: string,
  environment: string,
  builder: string,
  packages: Packages,
  index: string,
  progress: vscode.Progress<{ message: string }>,
  log: vscode.LogOutputChannel,
  token: vscode.CancellationToken,
): Promise<boolean> {
  const plan = commands(python, environment, scripts(environment, process.platform === 'win32'), builder, packages);
  const clear = (): Promise<void> => rm(environment, { recursive: true, force: true });
  let complete = false;
  await clear();
  try {
    for (const command of plan) {
      if (token.isCancellationRequested) break;
      await run(command, index, progress, log, token);
    }
    complete = !token.isCancellationRequested;
  } catch (error) {
    if (!token.isCancellationRequested) throw error;
  } finally {
    if (!complete) await clear();
  }
  return complete;
}

async function run(
  command: Command,
  index: string,
  progress: vscode.Progress<{ message: string }>,
  log: vscode.LogOutputChannel,
  token: vscode.CancellationToken,
): Promise<void> {
  log.info(command.join(' '));
  const [program, ...args] = command;
  const child = start(program, args, { env: { ...process.env, WINNOW_WHEELS: index } });
  const cancelling = token.onCancellationRequested(() => void end(child));
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      log.info(line);
      lines.push(line);
      progress.report({ message: line.slice(0, 80) });
    });
  }
  try {
    const code = await exitCode(child);
    if (code !== 0) throw new UserError(failure(command, code, lines));
  } finally {
    cancelling.dispose();
  }
}
