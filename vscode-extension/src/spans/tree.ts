/** The tree “Why These Spans?”: files with their share kept, spans with scores and features, and the time of each stage. */
import * as vscode from 'vscode';
import type { SpanInfo, Stats } from '../ask/contract';
import { relativePath } from '../asking/places';
import { count, counted, duration, percent, stages } from '../figures';
import { lineLabel } from '../lines';
import { bar, likelihood, type FileHeat } from './heat';
import type { QuestionSpans, Shown } from './shown';

type Node =
  | { kind: 'files'; kept: QuestionSpans }
  | { kind: 'time'; stats: Stats }
  | { kind: 'file'; heat: FileHeat }
  | { kind: 'span'; span: SpanInfo }
  | { kind: 'fact'; label: string; description: string };

const ICONS: Record<string, string> = {
  function: 'symbol-function',
  method: 'symbol-method',
  class_header: 'symbol-class',
  imports: 'references',
  section: 'symbol-string',
};

export class SpansTree implements vscode.TreeDataProvider<Node> {
  readonly onDidChangeTreeData: vscode.Event<void>;

  constructor(private readonly shown: Shown) {
    this.onDidChangeTreeData = shown.onDidChange;
  }

  getChildren(node?: Node): Node[] {
    switch (node?.kind) {
      case undefined:
        return this.roots();
      case 'files':
        return this.shown.heats.map((heat) => ({ kind: 'file', heat }));
      case 'file':
        return node.heat.spans.map((span) => ({ kind: 'span', span }));
      case 'span':
        return featureFacts(node.span);
      case 'time':
        return stages(node.stats).map(({ name, seconds, share }) => ({ kind: 'fact', label: name, description: `${duration(seconds)} ${bar(share)}` }));
      case 'fact':
        return [];
    }
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case 'files':
        return group('Kept code', keptOf(node.kept));
      case 'time':
        return group('Time to first token', node.stats.ttft === undefined ? 'no answer was requested' : duration(node.stats.ttft));
      case 'file':
        return fileItem(node.heat);
      case 'span':
        return spanItem(node.span);
      case 'fact':
        return Object.assign(new vscode.TreeItem(node.label), { description: node.description });
    }
  }

  private roots(): Node[] {
    const kept = this.shown.current;
    if (kept === undefined) return [];
    return [{ kind: 'files', kept }, ...(kept.stats === undefined ? [] : [{ kind: 'time', stats: kept.stats } as const])];
  }
}

function group(label: string, description: string): vscode.TreeItem {
  return Object.assign(new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Expanded), { description });
}

function keptOf({ stats, spans }: QuestionSpans): string {
  if (stats === undefined) return counted(spans.length, 'span');
  return `${count(stats.keptTokens)} of ${count(stats.workspaceTokens)} tokens`;
}

function fileItem(heat: FileHeat): vscode.TreeItem {
  const item = new vscode.TreeItem(relativePath(heat.uri), vscode.TreeItemCollapsibleState.Collapsed);
  item.id = heat.uri;
  item.resourceUri = vscode.Uri.parse(heat.uri, true);
  item.iconPath = vscode.ThemeIcon.File;
  item.description = `${percent(heat.share)} ${bar(heat.share)}`;
  item.tooltip = `${counted(heat.keptLines, 'line')} of ${relativePath(heat.uri)} kept (${percent(heat.share)}), ${counted(heat.tokens, 'token')}`;
  item.accessibilityInformation = { label: item.tooltip };
  return item;
}

function spanItem(span: SpanInfo): vscode.TreeItem {
  const item = new vscode.TreeItem(span.name || span.kind.replaceAll('_', ' '), vscode.TreeItemCollapsibleState.Collapsed);
  const answers = percent(likelihood(span.score));
  item.description = `${lineLabel(span.location.range)} · ${answers} likely · ${counted(span.tokens, 'token')}`;
  item.tooltip = `Lines ${lineLabel(span.location.range)}: score ${span.score.toFixed(2)}, that is ${answers} likely to answer the question`;
  item.iconPath = new vscode.ThemeIcon(ICONS[span.kind] ?? 'symbol-misc');
  item.command = { command: 'winnow.openSpan', title: 'Open', arguments: [span.location] };
  return item;
}

/** Each feature's contribution to the score, the largest first. */
function featureFacts({ features }: SpanInfo): Node[] {
  return Object.entries(features)
    .filter(([, value]) => value !== 0)
    .sort(([, a], [, b]) => Math.abs(b) - Math.abs(a))
    .map(([name, value]) => ({ kind: 'fact', label: name, description: `${value > 0 ? '+' : '−'}${Math.abs(value).toFixed(2)}` }));
}
