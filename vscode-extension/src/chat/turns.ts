/** Answers as the chat panel keeps them, and its messages as turns. */
import type { Turn } from '../server/protocol';

/** Stored with each answer of the participant. */
export interface Metadata {
  conversation: string;
  exchange: string;
}

/** The metadata of the last answer: the next question follows it up. */
export function lastMetadata(results: readonly { readonly metadata?: object }[]): Metadata | undefined {
  return results.findLast(({ metadata }) => metadata !== undefined && 'conversation' in metadata)?.metadata as Metadata | undefined;
}

export interface Message {
  role: 'user' | 'assistant';
  text: string;
}

/** The user's last message as the question, and the pairs of question and answer before it. */
export function split(messages: readonly Message[]): { question: string; earlier: Turn[] } {
  const last = messages.findLastIndex((message) => message.role === 'user');
  const earlier: Turn[] = [];
  for (const [index, message] of messages.slice(0, Math.max(last, 0)).entries()) {
    const before = messages[index - 1];
    if (message.role === 'assistant' && before?.role === 'user') earlier.push({ question: before.text, answer: message.text });
  }
  return { question: messages[last]?.text ?? '', earlier };
}
