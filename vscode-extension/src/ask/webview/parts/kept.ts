import { lineLabel } from '../../../lines';
import type { KeptLink } from '../../contract';
import { h, svg } from '../dom';
import type { Footnotes } from '../footnotes';
import type { IconName } from '../icons';
import { placeLink } from '../linking';

const FEW = 5;
const ICONS: Record<string, IconName> = { function: 'method', method: 'method', class_header: 'class', section: 'selection' };

/** The places that an answer rests on: from the moment they are known, with the cited ones numbered. */
export class KeptPlaces {
  readonly element = h('section', { class: 'places', 'aria-label': 'Places', hidden: '' });
  private readonly soFar = h('p', { class: 'so-far' }, 'Found so far by names and words');
  private readonly list = h('ul');
  private readonly more = h('button', { type: 'button', class: 'link', 'data-action': 'more' });
  private shown = '';
  private rows: KeptLink[] = [];
  private all = false;

  constructor() {
    this.element.append(this.soFar, this.list, this.more);
    this.more.addEventListener('click', () => { this.all = true; });
  }

  /** Rows change only where something did: a link that is replaced while it is pressed does nothing. */
  update(footnotes: Footnotes, provisional = false): void {
    const { places } = footnotes;
    const rows = places.filter((place, index) => this.all || index < FEW || footnotes.numberOf(place) !== undefined);
    const now = JSON.stringify([provisional, places.length, rows.map((row) => [row.label, footnotes.numberOf(row)])]);
    if (now === this.shown) return;
    this.shown = now;
    this.element.hidden = places.length === 0;
    this.soFar.hidden = !provisional;
    const hidden = places.length - rows.length;
    this.more.hidden = hidden === 0;
    this.more.textContent = `${hidden} more`;
    this.fill(rows, footnotes);
  }

  private fill(rows: KeptLink[], footnotes: Footnotes): void {
    const old = new Map(this.rows.map((row, index) => [row, this.list.children[index]]));
    this.rows = rows;
    const items = rows.map((row) => old.get(row) ?? item(row));
    for (const [index, one] of items.entries()) {
      if (this.list.children[index] !== one) this.list.insertBefore(one, this.list.children[index] ?? null);
      mark(one, rows[index], footnotes);
    }
    while (this.list.children.length > items.length) this.list.lastElementChild?.remove();
  }
}

/** What a narrow view cuts off comes last: the class of a method, and the folder. */
function item(row: KeptLink): HTMLElement {
  const path = row.label.replace(/:[\d-]+$/, '');
  const cut = path.lastIndexOf('/');
  const where = `${path.slice(cut + 1)}:${lineLabel(row.location.range)}`;
  const [, owner = '', name = row.name] = /^(\S+)(?:\.|::)(?!__\w+__$)([^\s.:]+)$/.exec(row.name) ?? []; // any class has an `__init__`
  const link = placeLink(row.location, svg(ICONS[row.kind] ?? 'file'), ...(name ? [h('span', { class: 'name' }, name)] : []),
    h('span', { class: name ? 'where' : 'name' }, where), h('span', { class: 'where folder' }, [owner, path.slice(0, Math.max(cut, 0))].filter(Boolean).join(' · ')));
  link.title = row.name ? `${row.name}, ${row.label}` : row.label;
  return h('li', {}, link);
}

function mark(element: Element, row: KeptLink | undefined, footnotes: Footnotes): void {
  const number = row && footnotes.numberOf(row);
  const link = element.querySelector<HTMLElement>('a');
  if (!row || !link) return;
  if (number !== undefined) link.dataset.note = String(number);
  const kind = row.kind.replaceAll('_', ' ') || 'lines';
  link.ariaDescription = number === undefined ? kind : `${kind}, cited as ${number}`;
}
