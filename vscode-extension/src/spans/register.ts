/** The spans view with its commands. */
import * as vscode from 'vscode';
import type { Disposable, Location } from '../ask/contract';
import { openLocation } from '../asking/places';
import { Decorations } from './decorations';
import { Shown, type Kept } from './shown';
import { SpansTree } from './tree';

export interface SpansView extends Disposable {
  readonly shown: Shown;
  readonly decorations: Decorations;
  /** Take other spans, without stealing the focus. */
  update(kept: Kept): Promise<void>;
  /** The same, and bring the view to the front. */
  reveal(kept: Kept): Promise<void>;
}

export function registerSpans(context: vscode.ExtensionContext): SpansView {
  const shown = new Shown();
  const decorations = new Decorations(shown, context.extensionUri);
  const view = vscode.window.createTreeView('winnow.spansView', { treeDataProvider: new SpansTree(shown), showCollapseAll: true });
  const update = async (kept: Kept): Promise<void> => {
    await shown.show(kept);
    view.message = [`“${kept.question}”`, ...kept.notices].join('\n');
  };
  const all = vscode.Disposable.from(
    shown,
    decorations,
    view,
    vscode.commands.registerCommand('winnow.toggleKeptSpans', () => { decorations.toggle(); }),
    vscode.commands.registerCommand('winnow.openSpan', (location: Location) => openLocation(location)),
  );
  return {
    shown,
    decorations,
    update,
    reveal: async (kept) => {
      await update(kept);
      await vscode.commands.executeCommand('winnow.spansView.focus');
    },
    dispose: () => { all.dispose(); },
  };
}
