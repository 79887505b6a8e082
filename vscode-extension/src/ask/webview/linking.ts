import type { Location, SentenceInfo } from '../contract';
import { lineLabel } from '../../lines';
import { h } from './dom';
import type { Footnotes } from './footnotes';
import { locate, segments, webAddress, type Openable } from './places';
import { insertBehind, ShownWords } from './words';

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

/** Put the numbers of places behind the sentences that these hold, and a question mark where none does. */
export function numberSentences(answer: Element, text: string, sentences: readonly SentenceInfo[], footnotes: Footnotes): void {
  for (const old of answer.querySelectorAll('.source')) old.remove();
  const characters = Array.from(text);
  const words = new ShownWords(proseIn(answer, 'pre, .code-bar'));
  const marked = sentences.map((sentence) => {
    const part = (from: number, to: number): string => characters.slice(from, to).join('');
    const names = sentence.unknown.map(({ start, end }) => part(start, end));
    return { end: words.endOf(part(sentence.start, sentence.end)), marks: [...sources(sentence, footnotes), ...doubts(sentence, names)] };
  });
  for (const { end, marks } of marked.reverse()) if (end) insertBehind(end, marks);
}

function sources({ places }: SentenceInfo, footnotes: Footnotes): HTMLElement[] {
  return places.flatMap((location) => {
    const note = footnotes.cite(location);
    return note === undefined ? [] : [source(citation(location), note)];
  });
}

function doubts({ places, support }: SentenceInfo, unknown: readonly string[]): HTMLElement[] {
  const said = unknown.map((name) => `${name} is no name in this workspace.`);
  if (places.length === 0 && support !== undefined) said.unshift('Not found in the code shown.');
  return said.length === 0 ? [] : [source(h('span', { class: 'place doubt', role: 'img', title: said.join(' ') }), '?')];
}

function source(mark: HTMLElement, note: string): HTMLElement {
  mark.classList.add('source');
  mark.ariaLabel = mark.title;
  mark.dataset.note = note;
  return mark;
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

function proseIn(answer: Node, without = 'a, code, pre, .code-bar'): Text[] {
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  while (walker.nextNode())
    if (walker.currentNode instanceof Text && !walker.currentNode.parentElement?.closest(without))
      found.push(walker.currentNode);
  return found;
}

function linkText(text: Text, openable: Openable, grows: boolean): void {
  const parts = segments(text.data, openable, grows);
  if (!parts.some((part) => part.location)) return;
  text.replaceWith(...parts.map((part) => (part.location ? citation(part.location, part.text) : part.text)));
}
