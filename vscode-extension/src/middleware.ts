/** Between VS Code and the language client: removes the extension's own settings, and answers commands in its views. */
import * as vscode from 'vscode';
import type { LanguageClientOptions } from 'vscode-languageclient/node';
import type { Question } from './ask/contract';
import type { AskView } from './ask/view';
import { questionOf } from './commands/asking';
import { ServerCommand, type AskParams, type EditParams } from './server/protocol';
import { configuration } from './settings';

/** The runners of the server's commands, which the language client registers. */
interface Runners {
  ask: AskView;
  search: (question: Question) => Promise<unknown>;
  /** Shows a change of the code before it makes it. */
  change: (wanted: EditParams) => Promise<unknown>;
  /** All other commands. The client itself would show every error unchanged, and never answer if the server dies. */
  send: (command: string, args: unknown[]) => Promise<unknown>;
}

/** The views are made after the client's options, so `runners` is called only when a command runs. */
export function clientOptions(runners: () => Runners): LanguageClientOptions {
  return {
    documentSelector: [{ scheme: 'file' }],
    middleware: {
      workspace: configuration,
      // Beside VS Code's own *Fix* and *Explain*, the light bulb says whose these are.
      provideCodeActions: async (document, range, context, token, next) =>
        (await next(document, range, context, token))?.map((action) => Object.assign(action, { title: `Winnow: ${action.title}` })),
      // The only documents that the server shows are pages of Markdown.
      window: { showDocument: async ({ uri }) => ({ success: await rendered(vscode.Uri.parse(uri, true)) }) },
      executeCommand: async (command, args: unknown[]): Promise<unknown> => {
        const { ask, search, change, send } = runners();
        const [asked] = args as (AskParams | EditParams)[];
        if (asked === undefined) return send(command, args);
        switch (command) {
          case ServerCommand.ask:
          case ServerCommand.explain:
            return ask.ask(questionOf(asked));
          case ServerCommand.showSpans:
            return search(questionOf(asked));
          case ServerCommand.edit:
            return change(asked as EditParams);
          default:
            return send(command, args);
        }
      },
    },
  };
}

/** Show a page of Markdown as people read it; as its source where VS Code's own preview is switched off. */
async function rendered(page: vscode.Uri): Promise<boolean> {
  try {
    await vscode.commands.executeCommand('markdown.showPreview', page);
  } catch {
    await vscode.commands.executeCommand('vscode.open', page);
  }
  return true;
}
