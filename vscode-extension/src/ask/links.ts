/** Citations and kept code as links with labels. */
import type { CitationLink, Exchange, KeptLink, Location, ShownExchange, SpanInfo } from './contract';

export function shownExchange(exchange: Exchange, relative: (uri: string) => string): ShownExchange {
  return { ...exchange, links: citationLinks(exchange.citations, relative) };
}

export function keptLinks(spans: readonly SpanInfo[], relative: (uri: string) => string): KeptLink[] {
  return spans.map(({ location, kind, name }) => ({
    label: `${relative(location.uri)}:${lines(location)}`,
    location,
    what: `${kind.replaceAll('_', ' ')} ${name}`.trim(),
  }));
}

/** One link for each place, in the order cited. */
function citationLinks(citations: readonly Location[], relative: (uri: string) => string): CitationLink[] {
  const byLabel = new Map<string, CitationLink>();
  for (const location of citations) {
    const label = `${relative(location.uri)}:${lines(location)}`;
    if (!byLabel.has(label)) byLabel.set(label, { label, location });
  }
  return [...byLabel.values()];
}

/** Line numbers as people count them; a range that ends at a line's start does not touch that line. */
function lines({ range: { start, end } }: Location): string {
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  return last === start.line + 1 ? `${last}` : `${start.line + 1}-${last}`;
}
