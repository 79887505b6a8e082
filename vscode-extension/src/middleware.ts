/** Between VS Code and the language client: settings of our own stay here, and our views show what commands answer. */
import type { LanguageClientOptions } from 'vscode-languageclient/node';
import type { AskView, Question } from './ask/contract';
import { questionOf } from './commands/asking';
import { ServerCommand, type AskParams } from './server/protocol';
import { configuration } from './settings';

/** The views exist after the client's options do; `views` is asked when a command runs. */
export function clientOptions(views: () => { ask: AskView; search: (question: Question) => Promise<unknown> }): LanguageClientOptions {
  return {
    documentSelector: [{ scheme: 'file' }],
    middleware: {
      workspace: configuration,
      executeCommand: async (command, args, next): Promise<unknown> => {
        const [asked] = args as AskParams[];
        if (asked === undefined) return next(command, args) as unknown;
        switch (command) {
          case ServerCommand.ask:
          case ServerCommand.explain:
            return views().ask.ask(questionOf(asked));
          case ServerCommand.showSpans:
            return views().search(questionOf(asked));
          default:
            return next(command, args) as unknown;
        }
      },
    },
  };
}
