import type { MarkedToken, Token } from 'marked';
import { counted } from '../../../figures';
import { decodeEntities } from './entities';
import { lex } from './growing';

/** Markdown as sentences for people who hear it: words without marks, and code blocks and tables by their size. */
export function spoken(markdown: string): string {
  return lex(markdown).map((token) => block(token as MarkedToken)).filter((part) => part !== '').join(' ');
}

function block(token: MarkedToken): string {
  switch (token.type) {
    case 'code':
      return `Code, ${counted(token.text.split('\n').length, 'line')}.`;
    case 'table':
      return `Table, ${counted(token.rows.length, 'row')}.`;
    case 'list':
      return token.items.map((item) => item.tokens.map((one) => block(one as MarkedToken)).join(' ')).join(' ');
    case 'space':
    case 'hr':
    case 'def':
      return '';
    default:
      return words(token).trim();
  }
}

function words(token: Token): string {
  const inner = (token as { tokens?: Token[] }).tokens;
  if (inner) return inner.map(words).join('');
  if (token.type === 'codespan') return (token as MarkedToken & { text: string }).text;
  return 'text' in token ? decodeEntities(String(token.text)) : '';
}
