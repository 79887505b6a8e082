import { expect, test } from 'vitest';
import { lastMetadata, split } from '../../src/chat/turns';

test('the last answer with a conversation is followed up', () => {
  const results = [{ metadata: { conversation: 'a', exchange: '1' } }, { metadata: { conversation: 'b', exchange: '2' } }, {}, { metadata: { other: 1 } }];
  expect(lastMetadata(results)).toEqual({ conversation: 'b', exchange: '2' });
  expect(lastMetadata([])).toBeUndefined();
});

test('the last message of the user is the question, answered ones before it are turns', () => {
  const user = (text: string) => ({ role: 'user' as const, text });
  const assistant = (text: string) => ({ role: 'assistant' as const, text });
  expect(split([user('a?'), assistant('a!'), user('lost'), user('b?'), assistant('b!'), user('c?')])).toEqual({
    question: 'c?',
    earlier: [{ question: 'a?', answer: 'a!' }, { question: 'b?', answer: 'b!' }],
  });
  expect(split([user('a?'), assistant('a!')])).toEqual({ question: 'a?', earlier: [] });
  expect(split([])).toEqual({ question: '', earlier: [] });
});
