/** Marks kept spans on demand: in editors (gutter, overview ruler) and, as a share of each file, in the explorer. */
import * as vscode from 'vscode';
import { percent } from '../figures';
import { lastLine } from '../lines';
import { heatOf, type Heat } from './heat';
import type { Shown } from './shown';

const HEATS: readonly Heat[] = ['hot', 'warm', 'cool'];

export class Decorations implements vscode.Disposable, vscode.FileDecorationProvider {
  private readonly types: Record<Heat, vscode.TextEditorDecorationType>;
  private readonly filesChanged = new vscode.EventEmitter<undefined>();
  private readonly subscriptions: vscode.Disposable[];
  private on = false;

  readonly onDidChangeFileDecorations = this.filesChanged.event;

  constructor(private readonly shown: Shown, extension: vscode.Uri) {
    this.types = Object.fromEntries(HEATS.map((heat) => [heat, decoration(heat, extension)])) as typeof this.types;
    this.subscriptions = [
      shown.onDidChange(() => { this.update(); }),
      vscode.window.onDidChangeVisibleTextEditors(() => { this.drawAll(); }),
      vscode.window.registerFileDecorationProvider(this),
    ];
  }

  toggle(): void {
    this.on = !this.on;
    this.update();
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const heat = this.on ? this.shown.heat(uri.toString()) : undefined;
    if (heat === undefined) return undefined;
    return new vscode.FileDecoration('●', `Winnow kept ${percent(heat.share)} of this file`); // a number or a colour would look like errors
  }

  /** The lines that an editor marks with a heat. */
  ranges(uri: string, heat: Heat): vscode.Range[] {
    const scores = this.shown.heats.flatMap((file) => file.spans.map((span) => span.score));
    const spans = this.on ? (this.shown.heat(uri)?.spans ?? []) : [];
    return spans
      .filter((span) => heatOf(span.score, scores) === heat)
      .map(({ location: { range } }) => new vscode.Range(range.start.line, 0, lastLine(range), 0));
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, ...Object.values(this.types), this.filesChanged).dispose();
  }

  private update(): void {
    this.drawAll();
    this.filesChanged.fire(undefined);
  }

  private drawAll(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      for (const heat of HEATS) editor.setDecorations(this.types[heat], this.ranges(editor.document.uri.toString(), heat));
    }
  }
}

function decoration(heat: Heat, extension: vscode.Uri): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    gutterIconPath: vscode.Uri.joinPath(extension, 'media', `gutter-${heat}.svg`),
    gutterIconSize: 'contain',
    overviewRulerColor: new vscode.ThemeColor('charts.lines'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
}
