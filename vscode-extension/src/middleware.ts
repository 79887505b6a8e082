/** Between VS Code and the language client: settings of our own stay here, and our views show what commands answer. */
import type { LanguageClientOptions } from 'vscode-languageclient/node';
import type { Question } from './ask/contract';
import type { AskView } from './ask/view';
import { questionOf } from './commands/asking';
import { ServerCommand, type AskParams } from './server/protocol';
import { configuration } from './settings';

/** What runs the server's commands, which the language client registers. */
interface Runners {
  ask: AskView;
  search: (question: Question) => Promise<unknown>;
  /** All others. The client's own way shows every error as it is, and answers nothing where the server dies. */
  send: (command: string, args: unknown[]) => Promise<unknown>;
}

/** The views exist after the client's options do; `runners` is asked when a command runs. */
export function clientOptions(runners: () => Runners): LanguageClientOptions {
  return {
    documentSelector: [{ scheme: 'file' }],
    middleware: {
      workspace: configuration,
      executeCommand: async (command, args: unknown[]): Promise<unknown> => {
        const { ask, search, send } = runners();
        const [asked] = args as AskParams[];
        if (asked === undefined) return send(command, args);
        switch (command) {
          case ServerCommand.ask:
          case ServerCommand.explain:
            return ask.ask(questionOf(asked));
          case ServerCommand.showSpans:
            return search(questionOf(asked));
          default:
            return send(command, args);
        }
      },
    },
  };
}
