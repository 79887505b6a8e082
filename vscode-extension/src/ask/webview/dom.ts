import { ICONS, type IconName } from './icons';

export type Child = Node | string | undefined;

/** An element with attributes and children. Strings become text, never markup. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** A button with an icon; its label is the tooltip and is read out. `action` is a key of `Actions.does`. */
export function iconButton(icon: IconName, label: string, action: string): HTMLButtonElement {
  return h('button', { type: 'button', class: 'icon', title: label, 'aria-label': label, 'data-action': action }, svg(icon));
}

/** Plain text with `code` in it, such as messages of the server and the extension. A setting becomes a link to it. */
export function prose(text: string): Child[] {
  return text.split(/`([^`\n]+)`/).map((part, index) => (index % 2 === 0 ? part : setting(part) ?? h('code', {}, part)));
}

function setting(name: string): Node | undefined {
  return /^winnow\.[\w.]+$/.test(name) ? h('button', { type: 'button', class: 'link', 'data-action': 'setting', 'data-name': name }, name) : undefined;
}

export function svg(name: IconName): SVGSVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  for (const [key, value] of [['viewBox', '0 0 16 16'], ['aria-hidden', 'true'], ['class', 'glyph'], ['data-icon', name]] as const)
    element.setAttribute(key, value);
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', ICONS[name]);
  element.append(path);
  return element;
}
