/** Runs `winnow models`: the list, and downloads with progress that can be cancelled. */
import { createInterface } from 'node:readline';
import * as vscode from 'vscode';
import { end, exitCode, output, start } from '../server/process';
import { UserError } from '../server/state';
import type { Suggested } from './choices';
import { describeStep, percentDone, readStep, type Model } from './steps';

export async function listModels(command: string): Promise<Model[]> {
  const { code, stdout, stderr } = await output(command, ['models', 'list', '--json']);
  if (code !== 0) throw new UserError(`\`winnow models list\` failed: ${stderr.trim()}`);
  return JSON.parse(stdout) as Model[];
}

export async function suggestModels(command: string): Promise<Suggested> {
  const { code, stdout, stderr } = await output(command, ['models', 'suggest', '--json']);
  if (code !== 0) throw new UserError(`\`winnow models suggest\` failed: ${stderr.trim()}`);
  return JSON.parse(stdout) as Suggested;
}

/** Download models; resolves with false if the user cancelled. Partial downloads are kept. */
export async function pullModels(command: string, models: readonly Model[], log: vscode.LogOutputChannel): Promise<boolean> {
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: 'Winnow: downloading models', cancellable: true },
    (progress, token) => pull(command, models, log, progress, token),
  );
}

async function pull(
  command: string,
  models: readonly Model[],
  log: vscode.LogOutputChannel,
  progress: vscode.Progress<{ message: string; increment: number }>,
  token: vscode.CancellationToken,
): Promise<boolean> {
  const child = start(command, ['models', 'pull', '--json', ...models.map((model) => model.name)]);
  const cancelling = token.onCancellationRequested(() => void end(child, 'SIGINT'));
  let shown = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const step = readStep(line);
    const now = percentDone(models, step);
    progress.report({ message: describeStep(step), increment: now - shown });
    shown = now;
  });
  const errors: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    errors.push(line);
    log.info(line);
  });
  try {
    const code = await exitCode(child);
    if (token.isCancellationRequested) return false;
    if (code !== 0) throw new UserError(errors.join('\n').trim() || `\`winnow models pull\` ended with exit code ${code ?? '?'}`);
    return true;
  } finally {
    cancelling.dispose();
  }
}
