/** Winnow as a language model of the chat panel, which calls participants only if a model is selected. */
import * as vscode from 'vscode';
import { sendAsk } from '../asking/requests';
import type { Session } from '../server/session';
import { split, type Message } from './turns';

export const VENDOR = 'winnow';
/** Fields that are missing from VS Code's published types; without them nobody can select the model. */
interface Selectable extends vscode.LanguageModelChatInformation {
  isUserSelectable: boolean;
  isDefault: boolean;
}
const MODEL: Selectable = {
  id: 'winnow',
  name: '@winnow', // to be used with it: VS Code answers every other question with a request to sign in
  family: 'winnow',
  version: '1',
  tooltip: 'Answers questions to @winnow with models on this machine. For others, VS Code wants an account.',
  maxInputTokens: 8192,
  maxOutputTokens: 2048,
  capabilities: { toolCalling: true },
  isUserSelectable: true,
  isDefault: true,
};
const CHARACTERS_PER_TOKEN = 4;

export function registerModel(session: Session): vscode.Disposable {
  return vscode.lm.registerLanguageModelChatProvider(VENDOR, {
    provideLanguageModelChatInformation: () => [MODEL],
    async provideLanguageModelChatResponse(_model, messages, _options, progress, token) {
      const { question, earlier } = split(messages.map(read));
      const delta = (text: string): void => { if (text !== '') progress.report(new vscode.LanguageModelTextPart(text)); };
      const listener = { kept: (): void => undefined, delta, progress: (): void => undefined };
      await sendAsk(await session.ready(token), { question, earlier }, listener, token);
    },
    // An estimate: only the server has the models' tokenizers.
    provideTokenCount: (_model, text) => Promise.resolve(Math.ceil((typeof text === 'string' ? text : read(text).text).length / CHARACTERS_PER_TOKEN)),
  });
}

/** Called once after activation, so that the panel knows the model before the first question. */
export async function announceModel(): Promise<void> {
  await vscode.lm.selectChatModels({ vendor: VENDOR });
}

function read(message: vscode.LanguageModelChatRequestMessage): Message {
  const text = message.content.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : '')).join('');
  return { role: message.role === vscode.LanguageModelChatMessageRole.User ? 'user' : 'assistant', text };
}
