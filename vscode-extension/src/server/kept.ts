/** Passes kept code on to its question: a client has one handler for each notification. */
import type { SpanInfo } from '../ask/contract';
import type { Kept } from './protocol';

const listeners = new Map<string, (spans: SpanInfo[], provisional: boolean) => void>();

/** Listen for the code kept for the question with this partial-result token. */
export function onKept(token: string, listener: (spans: SpanInfo[], provisional: boolean) => void): { dispose(): void } {
  listeners.set(token, listener);
  return { dispose: () => { listeners.delete(token); } };
}

export function tellKept({ token, spans, provisional = false }: Kept): void {
  listeners.get(token)?.(spans, provisional);
}
