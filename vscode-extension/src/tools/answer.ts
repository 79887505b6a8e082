/** `#winnowAsk`: an answer of the user's own target, with the lines that it cites. */
import type * as vscode from 'vscode';
import { atCommit, label } from '../asking/places';
import { sendAsk } from '../asking/requests';
import type { Session } from '../server/session';
import { UserError } from '../server/state';
import { questionIn } from './arguments';

const QUIETLY = { kept: (): void => undefined, delta: (): void => undefined, progress: (): void => undefined };

/** The answer as text. Throws UserError if it is longer than the caller can take. */
export async function answer(session: Session, { input, tokenizationOptions: caller }: vscode.LanguageModelToolInvocationOptions<unknown>, token: vscode.CancellationToken): Promise<string> {
  const question = questionIn(input);
  const result = await sendAsk(await session.ready(token), { question, earlier: [] }, QUIETLY, token);
  const places = [...result.citations, ...(result.citedBefore ?? []).map(atCommit)];
  const cited = places.length === 0 ? [] : [`Cited: ${places.map(label).join(', ')}`];
  const cutOff = result.finish === 'length' ? ['Note: the answer was cut off at winnow.maxTokens.'] : [];
  const text = [result.answer, ...cited, ...cutOff, ...result.notices.map((notice) => `Note: ${notice}`)].join('\n\n');
  if (caller === undefined || (await caller.countTokens(text, token)) <= caller.tokenBudget) return text;
  throw new UserError(`The answer does not fit ${caller.tokenBudget} tokens: use winnow_find_code with a budget.`);
}
