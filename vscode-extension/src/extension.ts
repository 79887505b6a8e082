import type * as vscode from 'vscode';
import { registerAskView } from './ask/view';

export function activate(context: vscode.ExtensionContext): void {
  void context;
  void registerAskView;
}
