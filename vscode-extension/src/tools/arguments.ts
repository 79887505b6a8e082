/** Checks the tools' arguments, which a model wrote. Free of VS Code, so that tests need none. */
import { UserError } from '../server/state';

const LEAST_TOKENS = 100;
const MOST_TOKENS = 20_000;
const USUAL_TOKENS = 2000;

/** The question among a tool's arguments. Throws UserError if there is none. */
export function questionIn(input: unknown): string {
  const { question } = fields(input);
  if (typeof question === 'string' && question.trim() !== '') return question;
  throw new UserError('question: ask in a sentence, for example "where is the request body limited?"');
}

/** The budget among a tool's arguments, in tokens. Throws UserError if it is out of range. */
export function budgetIn(input: unknown): number {
  const { budget = USUAL_TOKENS } = fields(input);
  if (Number.isInteger(budget) && (budget as number) >= LEAST_TOKENS && (budget as number) <= MOST_TOKENS) return budget as number;
  throw new UserError(`budget: give a whole number from ${LEAST_TOKENS} to ${MOST_TOKENS}, or leave it out`);
}

function fields(input: unknown): Record<string, unknown> {
  return typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
}
