import type { MarkedToken, Token, Tokens } from 'marked';
import { h, iconButton } from '../dom';
import { decodeEntities } from './entities';
import { highlighted } from './highlight';

const DEEPEST = 32;
/** Text of any script runs in its own direction. */
const AUTO = { dir: 'auto' };

/**
 * The nodes of Markdown tokens. An answer can make no others: HTML in it is shown as text, pictures become their
 * description, and links carry their target as data, which only `linking.ts` reads.
 */
export function nodes(tokens: readonly Token[], depth = 0): Node[] {
  return tokens.flatMap((token) => (depth < DEEPEST ? node(token as MarkedToken, depth + 1) : [text(token.raw)]));
}

function node(token: MarkedToken, depth: number): Node[] {
  switch (token.type) {
    case 'space':
    case 'def':
      return [];
    case 'paragraph':
      return [h('p', AUTO, ...nodes(token.tokens, depth))];
    case 'heading':
      return [heading(token, depth)];
    case 'blockquote':
      return [h('blockquote', {}, ...nodes(token.tokens, depth))];
    case 'list':
      return [list(token, depth)];
    case 'table':
      return [table(token, depth)];
    case 'code':
      return [code(token)];
    case 'hr':
      return [h('hr')];
    case 'br':
      return [h('br')];
    case 'checkbox':
      return [h('input', { type: 'checkbox', disabled: '', checked: token.checked ? '' : undefined })];
    case 'codespan':
      return [h('code', {}, token.text)];
    case 'strong':
    case 'em':
    case 'del':
      return [h(token.type, {}, ...nodes(token.tokens, depth))];
    case 'link':
      return [h('span', { 'data-href': decodeEntities(token.href) }, ...nodes(token.tokens, depth))];
    case 'image':
      return [h('span', { 'data-href': decodeEntities(token.href) }, decodeEntities(token.text) || 'picture')];
    case 'html':
      return /^<br\s*\/?>$/i.test(token.raw.trim()) ? [h('br')] : [token.block ? h('p', {}, token.raw) : text(token.raw)];
    case 'escape':
      return [text(token.text)];
    case 'text':
      return token.tokens ? nodes(token.tokens, depth) : [text(decodeEntities(token.text))];
    default:
      return [h('p', {}, (token as Token).raw)];
  }
}

function text(value: string): Text {
  return document.createTextNode(value);
}

/** Headings of an answer are below the page's own, which are levels 1 and 2. */
function heading(token: Tokens.Heading, depth: number): Node {
  const level = Math.min(token.depth + 2, 6) as 3 | 4 | 5 | 6;
  return h(`h${level}`, AUTO, ...nodes(token.tokens, depth));
}

function list(token: Tokens.List, depth: number): Node {
  const items = token.items.map((item) => h('li', { class: item.task ? 'task' : undefined }, ...nodes(item.tokens, depth)));
  const start = token.ordered && token.start !== '' && token.start !== 1 ? String(token.start) : undefined;
  return h(token.ordered ? 'ol' : 'ul', { ...AUTO, start }, ...items);
}

function table(token: Tokens.Table, depth: number): Node {
  const cell = (tag: 'th' | 'td') => (one: Tokens.TableCell) =>
    h(tag, { ...AUTO, class: one.align ?? undefined }, ...nodes(one.tokens, depth));
  const rows = token.rows.map((row) => h('tr', {}, ...row.map(cell('td'))));
  const head = h('thead', {}, h('tr', {}, ...token.header.map(cell('th'))));
  return h('div', { class: 'table', tabindex: '0', role: 'group', 'aria-label': 'Table' }, h('table', {}, head, h('tbody', {}, ...rows)));
}

function code(token: Tokens.Code): Node {
  const language = /^[\w+#.-]{1,20}/.exec(token.lang ?? '')?.[0].toLowerCase() ?? '';
  const bar = h('div', { class: 'code-bar' }, h('span', {}, language || 'code'),
    iconButton('copy', 'Copy code', 'copy-code'), iconButton('insert', 'Insert at cursor', 'insert-code'));
  const label = language ? `Code, ${language}` : 'Code';
  const lines = h('pre', { dir: 'ltr', tabindex: '0', role: 'group', 'aria-label': label }, h('code', {}, ...highlighted(token.text, language)));
  return h('div', { class: 'code' }, bar, lines);
}
