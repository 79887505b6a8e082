import type { Location } from '../contract';
import { lineLabel } from '../../lines';
import { h } from './dom';
import type { Footnotes } from './footnotes';
import { locate, segments, webAddress, type Openable } from './places';

const targets = new WeakMap<Element, Location>();

/** A link that opens lines in the editor. Its `href` leads nowhere; its target is stored outside the document. */
export function placeLink(location: Location, ...children: (Node | string)[]): HTMLAnchorElement {
  const link = h('a', { href: '#', class: 'place', 'data-action': 'open' }, ...children);
  targets.set(link, location);
  return link;
}

export function targetOf(link: Element): Location | undefined {
  return targets.get(link);
}

/**
 * Make links of the places that an answer names: in code spans, as `path:line` in prose, and in Markdown links. With
 * `grows`, the end of the text is left alone: it may become another place.
 */
export function linkPlaces(answer: Element | DocumentFragment, openable: Openable, grows = false): void {
  for (const span of answer.querySelectorAll('[data-href]')) linkTarget(span, openable);
  for (const code of answer.querySelectorAll(':not(pre) > code')) linkCode(code, openable);
  for (const text of proseIn(answer)) linkText(text, openable, grows);
}

/** Number the links to places, in the order of the text. */
export function numberPlaces(answer: Element | DocumentFragment, footnotes: Footnotes): void {
  for (const link of answer.querySelectorAll<HTMLElement>('a.place')) {
    const location = targetOf(link);
    const note = location && footnotes.cite(location);
    if (note !== undefined) link.dataset.note = note;
  }
}

/** A link in an answer. Its tooltip tells links to different lines apart. */
function citation(location: Location, ...children: (Node | string)[]): HTMLAnchorElement {
  const link = placeLink(location, ...children);
  link.title = `Open ${location.uri.split('/').at(-1) ?? ''}:${lineLabel(location.range)}`;
  return link;
}

function linkTarget(span: Element, openable: Openable): void {
  const href = span.getAttribute('data-href') ?? '';
  const location = locate(href, openable);
  const address = webAddress(href);
  if (location) span.replaceWith(citation(location, ...span.childNodes));
  else if (address !== undefined) span.replaceWith(webLink(address, [...span.childNodes]));
}

/** A web link always shows its address: its text comes from a model that may have read hostile code. */
function webLink(address: string, label: Node[]): HTMLAnchorElement {
  const shown = label.map((node) => node.textContent).join('');
  const tail = shown === address || `${shown}/` === address ? '' : ` (${address})`;
  return h('a', { href: '#', class: 'web', 'data-action': 'browse', 'data-address': address }, ...label, tail);
}

function linkCode(code: Element, openable: Openable): void {
  if (code.closest('a')) return;
  const location = locate(code.textContent, openable);
  if (!location) return;
  const link = citation(location);
  code.replaceWith(link);
  link.append(code);
}

function proseIn(answer: Node): Text[] {
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  while (walker.nextNode())
    if (walker.currentNode instanceof Text && !walker.currentNode.parentElement?.closest('a, code, pre, .code-bar'))
      found.push(walker.currentNode);
  return found;
}

function linkText(text: Text, openable: Openable, grows: boolean): void {
  const parts = segments(text.data, openable, grows);
  if (!parts.some((part) => part.location)) return;
  text.replaceWith(...parts.map((part) => (part.location ? citation(part.location, part.text) : part.text)));
}
