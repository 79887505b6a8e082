/** `#winnow` in any chat model's prompt: the code that answers a question. */
import * as vscode from 'vscode';
import { sendSpans } from '../asking/requests';
import type { Session } from '../server/session';
import { UserError } from '../server/state';
import { budgetIn, questionIn } from './arguments';
import { fitted, type Limits } from './fitting';
import { read } from './reading';

/** The code's share of the budget; the rest is for names of places. */
const CODE_SHARE = 0.8;
/** With fewer tokens the server finds nothing, as if no code answered. */
const LEAST_CODE_TOKENS = 80;
const QUIETLY = { progress: (): void => undefined };

/** The code, best first, as text within the caller's limits. Throws UserError if nothing is found or fits. */
export async function find(session: Session, options: vscode.LanguageModelToolInvocationOptions<unknown>, token: vscode.CancellationToken): Promise<string> {
  const question = questionIn(options.input);
  const limits = limitsOf(options, token);
  const client = await session.ready(token);
  const tokens = Math.max(LEAST_CODE_TOKENS, Math.floor(CODE_SHARE * Math.min(limits.budget, limits.caller?.budget ?? limits.budget)));
  const { spans, notices } = await sendSpans(client, { question, budget: tokens }, QUIETLY, token);
  const pieces = await read(spans);
  const [best] = pieces;
  if (best === undefined) throw new UserError('Nothing in the workspace seems to answer this: ask in other words, or search for a name.');
  const text = await fitted(pieces, notices, limits) ?? await fitted(pieces, [], limits);
  if (text !== undefined) return text;
  throw new UserError(`The code found does not fit: ask with a larger budget, or read ${best.place}, which is the likeliest.`);
}

function limitsOf({ input, tokenizationOptions: caller }: vscode.LanguageModelToolInvocationOptions<unknown>, token: vscode.CancellationToken): Limits {
  const budget = budgetIn(input);
  if (caller === undefined) return { budget };
  return { budget, caller: { budget: caller.tokenBudget, count: (text) => caller.countTokens(text, token) } };
}
