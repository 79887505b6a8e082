/** The history as a list of conversations, for people. */
import type { ShownExchange } from '../contract';

export interface Conversation {
  id: string;
  /** Its first question. */
  title: string;
  questions: number;
  /** Of the latest question; milliseconds since the epoch. */
  askedAt: number;
}

/** Latest first. */
export function conversations(exchanges: readonly ShownExchange[]): Conversation[] {
  const byId = new Map<string, Conversation>();
  for (const { conversation: id, title, question, askedAt } of exchanges) {
    const known = byId.get(id);
    byId.set(id, { id, title: known?.title ?? title ?? question, questions: (known?.questions ?? 0) + 1, askedAt: Math.max(askedAt, known?.askedAt ?? 0) });
  }
  return [...byId.values()].sort((a, b) => b.askedAt - a.askedAt);
}

/** `just now`, `5 min ago`, `3 h ago`, else the day. */
export function ago(then: number, now: number): string {
  const minutes = Math.floor((now - then) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return new Date(then).toLocaleDateString(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
}
