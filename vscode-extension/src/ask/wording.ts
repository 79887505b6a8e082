import type { Question, QuestionWords } from './contract';

/** The first clause of a question that the server worded; the rest tells the model how to answer. */
export function titleOf(question: string): string {
  return /^.*?(?:\?(?=\s|$)|(?=[:,]\s|$))/.exec(question)?.[0] ?? question;
}

/** The part of a question that is sent again when it is repeated, with its place. */
export function wordsOf({ text, about, diagnostics }: Question): QuestionWords {
  return { text, about, diagnostics };
}

/** A question in words, until the server has worded it. */
export function wording({ text, about, place }: Question): string {
  if (text !== undefined) return text;
  const code = place?.label ?? 'this';
  switch (about) {
    case 'usage':
      return `How is ${code} used?`;
    case 'impact':
      return `What would break if ${code} changed?`;
    case 'why':
      return `Why is ${code} so?`;
    case 'diagnostic':
      return `Explain the problem in ${code}`;
    default:
      return `Explain ${code}`;
  }
}
