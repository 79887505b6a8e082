/** The questions and answers of this workspace, across sessions. */
import type { Exchange } from '../ask/contract';
import type { Turn } from '../server/protocol';

const KEY = 'winnow.history';
const MOST_EXCHANGES = 100;
/** Older exchanges lose their spans, sentences and thoughts, which are large. */
const MOST_WHOLE = 20;

/** The part of `vscode.Memento` that is used. */
export interface Store {
  get(key: string): unknown;
  update(key: string, value: unknown): PromiseLike<void>;
}

export class History {
  private exchanges: readonly Exchange[];

  constructor(private readonly store: Store) {
    this.exchanges = (store.get(KEY) as Exchange[] | undefined) ?? [];
  }

  /** Oldest first. */
  all(): readonly Exchange[] {
    return this.exchanges;
  }

  /** The questions of a conversation with their answers, cancelled ones as far as they came, for a server that does not know them. */
  turns(conversation: string): Turn[] {
    return this.exchanges
      .filter((exchange) => exchange.conversation === conversation && (exchange.outcome === 'answered' || (exchange.outcome === 'cancelled' && exchange.answer !== '')))
      .map(({ question, answer }) => ({ question, answer }));
  }

  async add(exchange: Exchange): Promise<void> {
    await this.keep([...this.exchanges, exchange].slice(-MOST_EXCHANGES));
  }

  async forget(conversation?: string): Promise<void> {
    await this.keep(conversation === undefined ? [] : this.exchanges.filter((exchange) => exchange.conversation !== conversation));
  }

  private async keep(exchanges: readonly Exchange[]): Promise<void> {
    const old = exchanges.length - MOST_WHOLE;
    this.exchanges = exchanges.map((exchange, index) => (index < old ? lean(exchange) : exchange));
    await this.store.update(KEY, this.exchanges);
  }
}

function lean({ thinking: _, sentences: _places, ...exchange }: Exchange): Exchange {
  return { ...exchange, spans: [] };
}
