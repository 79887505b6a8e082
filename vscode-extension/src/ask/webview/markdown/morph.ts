/**
 * Make the children of `parent` from index `first` on look like `nodes`, changing as little as possible: equal nodes
 * stay, with selection, focus and scroll position.
 */
export function morph(parent: Element, first: number, nodes: Node[]): void {
  for (const [index, node] of nodes.entries()) {
    const old = parent.childNodes[first + index];
    if (old === undefined) parent.append(node);
    else if (!old.isEqualNode(node)) replace(parent, old, node);
  }
  while (parent.childNodes.length > first + nodes.length) parent.lastChild?.remove();
}

function replace(parent: Element, old: ChildNode, node: Node): void {
  if (old instanceof Text && node instanceof Text) extend(old, node.data);
  else if (old instanceof Element && node instanceof Element && sameTag(old, node)) morph(old, 0, [...node.childNodes]);
  else parent.replaceChild(node, old);
}

/** Text that only grew is extended, so that a selection in it stays. */
function extend(text: Text, data: string): void {
  if (data.startsWith(text.data)) text.appendData(data.slice(text.data.length));
  else text.data = data;
}

function sameTag(a: Element, b: Element): boolean {
  return a.cloneNode(false).isEqualNode(b.cloneNode(false));
}
