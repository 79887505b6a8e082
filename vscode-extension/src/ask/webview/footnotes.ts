import type { CitationLink, KeptLink, Location } from '../contract';
import { covers } from './places';
import { lastLine } from '../../lines';

/** The places of an answer, and the numbers of those that it cites, in the order of their first mention. */
export class Footnotes {
  readonly places: readonly KeptLink[];
  private readonly numbers = new Map<KeptLink, number>();

  /** Cited lines outside of the kept code are places, too. */
  constructor(readonly kept: readonly KeptLink[], readonly links: readonly CitationLink[] = []) {
    const beside = links.filter(({ location }) => !kept.some((one) => isIn(location, one)));
    this.places = [...kept, ...beside.map((link) => ({ ...link, kind: '', name: '' }))];
  }

  /** The number of the place that holds these lines, given now if it has none. */
  cite(location: Location): string | undefined {
    const place = this.places.find((one) => isIn(location, one));
    if (!place) return undefined;
    const number = this.numbers.get(place) ?? this.numbers.size + 1;
    this.numbers.set(place, number);
    return String(number);
  }

  numberOf(place: KeptLink): number | undefined {
    return this.numbers.get(place);
  }

  get cited(): number {
    return this.numbers.size;
  }
}

function isIn({ uri, range }: Location, place: KeptLink): boolean {
  return place.location.uri === uri && covers(place.location, range.start.line, lastLine(range));
}
