import * as vscode from 'vscode';
import { reason } from './asking/requests';

/** Run some work, and show the user its error. */
export async function telling(work: () => PromiseLike<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    void vscode.window.showErrorMessage(`Winnow: ${reason(error)}`);
  }
}
