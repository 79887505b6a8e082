/** `@winnow` in the chat panel, and Winnow as its language model. */
import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { AskListener, Exchange, Location } from '../../../src/ask/contract';
import { configure, eventually, idle, LONG_QUESTION, open, QUESTION, select, SHORT, winnow } from '../host';

const MODEL = { vendor: 'winnow' };
type Answer = (vscode.ChatResult & { metadata?: { conversation?: string; exchange?: string } }) | undefined;

export function define(): void {
  suite('the chat panel', () => {
    test('the chat participant answers', async () => {
      const answer = await chat(QUESTION);
      const exchange = last();
      assert.deepEqual([exchange.question, exchange.outcome, answer?.metadata?.exchange], [QUESTION, 'answered', exchange.id]);
      const text = await shown();
      assert.ok(plain(text).includes(plain(exchange.answer)), text);
      assert.ok(exchange.citations.length > 0, exchange.answer);
      for (const citation of exchange.citations) assert.ok(text.includes(named(citation)), text);
    });

    // References are not among what the panel copies; an error of the stream's would end up here.
    test('the chat participant takes kept code before the answer', async () => {
      const came: string[] = [];
      await listeningTo(QUESTION, (listener) => ({
        ...listener,
        kept: (spans) => { listener.kept(spans); came.push(`${spans.length} kept`); },
        delta: (text) => { listener.delta(text); came.push('delta'); },
      }));
      assert.equal(came.find((what) => what !== 'delta'), came[0], came.join());
      assert.ok(came.includes(`${last().spans.length} kept`), came.join());
    });

    test('a follow-up in the panel continues the conversation', async () => {
      const before = last();
      const answer = await chat('And what does it return?');
      assert.equal(answer?.metadata?.conversation, before.conversation);
      assert.notEqual(last().id, before.id);
    });

    test('/why shows the code behind the last answer, and how it scored', async () => {
      const { spans } = last();
      const before = winnow.service.history().length;
      await chat('/why');
      const text = await reply();
      const [best] = spans.toSorted((a, b) => b.score - a.score);
      assert.ok(best && text.includes(named(best.location)), text);
      assert.equal(text.match(/\d+% likely/g)?.length, Math.min(spans.length, 10), text);
      assert.equal(winnow.service.history().length, before, 'it asked something');
    });

    test('/find lists code for a question and answers nothing', async () => {
      const before = winnow.service.history().length;
      await chat('/find where is the fee for delivery decided?');
      const text = await reply();
      assert.match(text, /pricing\.py:15/);
      assert.match(text, /\d+% likely/);
      assert.equal(winnow.service.history().length, before);
      assert.equal(winnow.spans.shown.current?.question, 'where is the fee for delivery decided?');
    });

    test('/find without words says what is missing', async () => {
      assert.match((await chat('/find'))?.errorDetails?.message ?? '', /Say what to find/);
    });

    test('/explain takes the selection', async () => {
      await select(await open('shop/pricing.py'), 'def delivery', 3);
      await chat('/explain');
      const { question, place, outcome, spans } = last();
      assert.deepEqual([outcome, place?.label], ['answered', 'shop/pricing.py:15-17']);
      assert.match(question, /explain/i);
      assert.ok(spans.some((span) => span.location.uri === place?.uri));
    });

    test('/explain takes an attached file, and the words of the user', async () => {
      const file = (await open('shop/catalog.py')).document.uri;
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      await chat('/explain what is sold here?', { attachFiles: [file] });
      const { question, place, outcome } = last();
      assert.deepEqual([question, outcome, place?.uri], ['what is sold here?', 'answered', file.toString()]);
    });

    test('/explain without anything to explain says what is missing', async () => {
      const before = winnow.service.history().length;
      await vscode.commands.executeCommand('workbench.action.chat.newChat');
      assert.match((await chat('/explain'))?.errorDetails?.message ?? '', /Open a file of the workspace, or attach one/);
      assert.equal(winnow.service.history().length, before);
    });

    test('stopping in the panel while the prompt is read stops the work', async () => {
      await configure({ budget: 1500 });
      const exchange = await stopped(LONG_QUESTION, (listener, stop) => ({
        ...listener,
        progress: (message) => { listener.progress(message); if (message.startsWith('reading')) stop(); },
      }));
      assert.deepEqual([exchange.outcome, exchange.answer], ['cancelled', '']);
    });

    test('stopping in the panel in the middle of an answer keeps what came', async () => {
      await configure({ ...SHORT, maxTokens: 500 });
      const exchange = await stopped(QUESTION, (listener, stop) => ({ ...listener, delta: (text) => { listener.delta(text); stop(); } }));
      assert.equal(exchange.outcome, 'cancelled');
      assert.ok(exchange.answer.length > 0);
      await configure(SHORT);
    });

    test('stopping in the panel stops a search as well', async () => {
      const { session } = winnow;
      const ready = session.ready.bind(session);
      let stopped = false;
      session.ready = (token) => new Promise((_, reject) => {
        token?.onCancellationRequested(() => {
          stopped = true;
          reject(new Error('stopped'));
        });
        void vscode.commands.executeCommand('workbench.action.chat.cancel');
      });
      await chat('/find where is the fee for delivery decided?');
      await eventually(() => stopped);
      session.ready = ready;
    });

    test('the language model answers other extensions', async () => {
      const [model] = await vscode.lm.selectChatModels(MODEL);
      assert.ok(model);
      const response = await model.sendRequest([vscode.LanguageModelChatMessage.User(QUESTION)]);
      let text = '';
      for await (const piece of response.text) text += piece;
      assert.ok(text.length > 0);
    });

    test('the language model stops when another extension says so', async () => {
      await configure({ maxTokens: 500 });
      const [model] = await vscode.lm.selectChatModels(MODEL);
      assert.ok(model);
      const source = new vscode.CancellationTokenSource();
      const response = await model.sendRequest([vscode.LanguageModelChatMessage.User(QUESTION)], {}, source.token);
      let text = '';
      await assert.rejects(async () => {
        for await (const piece of response.text) {
          text += piece;
          source.cancel();
        }
      });
      assert.ok(text.length > 0);
      await idle();
      await configure(SHORT);
    });
  });
}

/** Ask `@winnow` in the panel as a user does, and wait until it has answered. */
async function chat(words: string, more: object = {}): Promise<Answer> {
  return vscode.commands.executeCommand<Answer>('workbench.action.chat.open', { query: `@winnow ${words}`, modelSelector: MODEL, blockOnResponse: true, ...more });
}

/** Ask, and press the panel's stop button when `listening` says so. */
async function stopped(words: string, listening: (listener: AskListener, stop: () => void) => AskListener): Promise<Exchange> {
  const before = winnow.service.history().length;
  const stop = (): void => void vscode.commands.executeCommand('workbench.action.chat.cancel');
  await listeningTo(words, (listener) => listening(listener, stop));
  // The panel does not wait for what it stopped, which the history has only once the server has let go of it.
  await eventually(() => winnow.service.history().length > before, () => winnow.service.history());
  await idle();
  assert.equal(winnow.service.history().length, before + 1);
  return last();
}

/** Ask in the panel, and listen in on what the participant is told. */
async function listeningTo(words: string, listening: (listener: AskListener) => AskListener): Promise<void> {
  const { service } = winnow;
  const ask = service.ask.bind(service);
  service.ask = (question, listener, token) => ask(question, listening(listener), token);
  await chat(words);
  service.ask = ask;
}

function last(): Exchange {
  const exchange = winnow.service.history().at(-1);
  assert.ok(exchange);
  return exchange;
}

/** The words alone: places are links in the panel. */
function plain(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`\s]+/g, ' ').trim();
}

/** The beginning of how the panel writes a place. */
function named({ uri, range }: Location): string {
  return `${uri.split('/').at(-1)}:${range.start.line + 1}`;
}

/** All that the panel shows, as it is copied. */
async function shown(): Promise<string> {
  await vscode.env.clipboard.writeText('');
  await vscode.commands.executeCommand('workbench.action.chat.copyAll');
  return vscode.env.clipboard.readText();
}

/** What it shows after the last question. */
async function reply(): Promise<string> {
  return (await shown()).split('@winnow').at(-1) ?? '';
}
