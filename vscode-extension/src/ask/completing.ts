/** What `@` in a question completes: matching and order, without VS Code. */
import type { Completion } from './contract';

const MOST = 8;
const MENTIONS: [name: string, detail: string][] = [
  ['@changes', 'uncommitted changes'], ['@staged', 'staged changes'], ['@branch', 'this branch'], ['@commit', 'the last commit'], ['@when', 'when something changed'],
];

/** A symbol of the workspace with the path of its file. */
export interface NamedSymbol {
  name: string;
  path: string;
}

/** The best completions of a word: changes at the start of a question, then files, folders and symbols, those first that begin with it. */
export function completed(word: string, first: boolean, paths: readonly string[], symbols: readonly NamedSymbol[]): Completion[] {
  const mentions = first ? MENTIONS.filter(([name]) => name.startsWith(`@${word.toLowerCase()}`)) : [];
  const places = [...paths.map((path) => entry('file', path)), ...foldersOf(paths).map((path) => entry('folder', path))];
  const named = symbols.map(({ name, path }): Completion => ({ kind: 'symbol', label: name, detail: path, text: `\`${name}\`` }));
  const found = [...best(places, word), ...best(named, word)];
  const begins = (item: Completion): boolean => rankOf(item, word.toLowerCase()) === 0;
  return [
    ...mentions.map(([name, detail]): Completion => ({ kind: 'changes', label: name, detail, text: name })),
    ...found.filter(begins),
    ...found.filter((item) => !begins(item)),
  ].slice(0, MOST);
}

function entry(kind: 'file' | 'folder', path: string): Completion {
  const cut = path.lastIndexOf('/');
  return { kind, label: path.slice(cut + 1), detail: cut < 0 ? '' : path.slice(0, cut), text: path };
}

function foldersOf(paths: readonly string[]): string[] {
  const above = (path: string): string[] => path.split('/').slice(0, -1).map((_, index, parts) => parts.slice(0, index + 1).join('/'));
  return [...new Set(paths.flatMap(above))];
}

function best(items: Completion[], word: string): Completion[] {
  const ranked = items.map((item) => ({ item, rank: rankOf(item, word.toLowerCase()) })).filter(({ rank }) => rank < 4);
  const sure = ranked.filter(({ rank }) => rank < 3);
  return (sure.length > 0 ? sure : ranked).sort((a, b) => a.rank - b.rank || a.item.text.length - b.item.text.length).slice(0, MOST / 2).map(({ item }) => item);
}

/** 0 for a label that begins with the word, then one that holds it, a path that holds it, and its letters in order. */
function rankOf({ label, text }: Completion, word: string): number {
  const [name, path] = [label.toLowerCase(), text.toLowerCase()];
  if (name.startsWith(word)) return 0;
  if (name.includes(word)) return 1;
  if (path.includes(word)) return 2;
  let at = 0;
  for (const letter of path) if (letter === word[at]) at += 1;
  return at === word.length ? 3 : 4;
}
