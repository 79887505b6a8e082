/** What the chat panel keeps of our answers, and how its messages become turns. */
import type { Turn } from '../server/protocol';

/** Kept with each answer of the participant. */
export interface Metadata {
  conversation: string;
  exchange: string;
}

/** A result of the participant, as far as it is needed here. */
export interface Result {
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The conversation that the last answer belongs to: the next question follows it up. */
export function conversationOf(results: readonly Result[]): string | undefined {
  return latest(results, 'conversation');
}

/** The exchange that was answered last. */
export function exchangeOf(results: readonly Result[]): string | undefined {
  return latest(results, 'exchange');
}

export interface Message {
  role: 'user' | 'assistant';
  text: string;
}

/** The last message of the user as the question, and the pairs of question and answer before it. */
export function split(messages: readonly Message[]): { question: string; earlier: Turn[] } {
  const last = messages.findLastIndex((message) => message.role === 'user');
  const earlier: Turn[] = [];
  for (const [index, message] of messages.slice(0, Math.max(last, 0)).entries()) {
    const before = messages[index - 1];
    if (message.role === 'assistant' && before?.role === 'user') earlier.push({ question: before.text, answer: message.text });
  }
  return { question: messages[last]?.text ?? '', earlier };
}

function latest(results: readonly Result[], name: keyof Metadata): string | undefined {
  const value = results.findLast((result) => result.metadata?.[name] !== undefined)?.metadata?.[name];
  return typeof value === 'string' ? value : undefined;
}
