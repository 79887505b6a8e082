/** The spans view “Why These Spans?” with its commands. */
import * as vscode from 'vscode';
import type { Location } from '../ask/contract';
import { openLocation } from '../asking/places';
import { Decorations } from './decorations';
import { Shown, type QuestionSpans } from './shown';
import { SpansTree } from './tree';

export class SpansView implements vscode.Disposable {
  readonly shown = new Shown();
  readonly decorations: Decorations;
  private readonly view: vscode.TreeView<unknown>;
  private readonly subscriptions: vscode.Disposable;

  constructor(extension: vscode.Uri) {
    this.decorations = new Decorations(this.shown, extension);
    this.view = vscode.window.createTreeView('winnow.spansView', { treeDataProvider: new SpansTree(this.shown), showCollapseAll: true });
    this.subscriptions = vscode.Disposable.from(
      this.shown,
      this.decorations,
      this.view,
      vscode.commands.registerCommand('winnow.toggleKeptSpans', () => { this.decorations.toggle(); }),
      vscode.commands.registerCommand('winnow.openSpan', (location: Location) => openLocation(location)),
    );
  }

  /** Show other spans, without stealing the focus. */
  async update(kept: QuestionSpans): Promise<void> {
    await this.shown.show(kept);
    this.view.message = [`“${kept.question}”`, ...kept.notices].join('\n');
  }

  /** Show other spans, and bring the view to the front. */
  async reveal(kept: QuestionSpans): Promise<void> {
    await this.update(kept);
    await vscode.commands.executeCommand('winnow.spansView.focus');
  }

  dispose(): void {
    this.subscriptions.dispose();
  }
}
