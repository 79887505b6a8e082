/** Winnow's tools for any language model in VS Code; package.json has the descriptions that models read. */
import * as vscode from 'vscode';
import { wasStopped } from '../asking/requests';
import type { Session } from '../server/session';
import { answer } from './answer';
import { find } from './find';

type Options = vscode.LanguageModelToolInvocationOptions<unknown>;
type Handler = (session: Session, options: Options, token: vscode.CancellationToken) => Promise<string>;

/** Registers nothing in editors based on VS Code that lack these tools. */
export function registerTools(session: Session): vscode.Disposable {
  const { registerTool } = vscode.lm as Partial<typeof vscode.lm>;
  if (registerTool === undefined) return new vscode.Disposable(() => undefined);
  return vscode.Disposable.from(
    registerTool('winnow_find_code', tool(session, 'Finding code', find)),
    registerTool('winnow_ask', tool(session, 'Asking the local model', answer)),
  );
}

function tool(session: Session, doing: string, handler: Handler): vscode.LanguageModelTool<unknown> {
  return {
    prepareInvocation: ({ input }) => ({ invocationMessage: message(doing, input) }),
    async invoke(options, token) {
      try {
        return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(await handler(session, options, token))]);
      } catch (error) {
        if (token.isCancellationRequested || wasStopped(error)) throw new vscode.CancellationError();
        throw error;
      }
    },
  };
}

/** A plain string, so that VS Code does not render a model's Markdown. */
function message(doing: string, input: unknown): string {
  const { question } = (input ?? {}) as { question?: unknown };
  return typeof question === 'string' ? `${doing}: ${question}` : doing;
}
