/** Long work of the server, with progress that can be cancelled. */
import * as vscode from 'vscode';
import type { AskListener } from './ask/contract';
import { wasStopped } from './asking/requests';

type Work<T> = (listener: Pick<AskListener, 'progress'>, token: vscode.CancellationToken) => Promise<T>;

/** The result; undefined if the user cancelled. */
export async function working<T>(title: string, work: Work<T>): Promise<T | undefined> {
  const options = { location: vscode.ProgressLocation.Notification, title: `Winnow: ${title}`, cancellable: true }; // progress in a view has no button
  return vscode.window.withProgress(options, async (progress, token) => {
    try {
      return await work({ progress: (message) => { progress.report({ message }); } }, token);
    } catch (error) {
      if (token.isCancellationRequested || wasStopped(error)) return undefined;
      throw error;
    }
  });
}
