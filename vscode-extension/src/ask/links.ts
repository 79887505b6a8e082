/** Citations and kept code as links with labels. */
import { lineLabel } from '../lines';
import type { CitationLink, Exchange, KeptLink, Location, ShownExchange, SpanInfo } from './contract';

/** A path for people, from a URI. */
export type Relative = (uri: string) => string;

export function shownExchange(exchange: Exchange, relative: Relative): ShownExchange {
  return { ...exchange, links: citationLinks(exchange.citations, relative), kept: keptLinks(exchange.spans, relative) };
}

/** Best first; answers have them in the order of files. */
export function keptLinks(spans: readonly SpanInfo[], relative: Relative): KeptLink[] {
  return spans.toSorted((a, b) => b.score - a.score).map(({ location, kind, name }) => ({ ...link(location, relative), kind, name }));
}

/** One link for each place, in the order cited. */
function citationLinks(citations: readonly Location[], relative: Relative): CitationLink[] {
  const links = citations.map((location) => link(location, relative));
  return links.filter(({ label }, index) => links.findIndex((one) => one.label === label) === index);
}

function link(location: Location, relative: Relative): CitationLink {
  return { label: `${relative(location.uri)}:${lineLabel(location.range)}`, location };
}
