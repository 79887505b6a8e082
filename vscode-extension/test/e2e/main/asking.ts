/** Questions through the service that the Ask view uses. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { currentPlace, openLocation } from '../../../src/asking/places';
import { asking, configure, folder, idle, LONG_QUESTION, open, QUESTION, select, SHORT, winnow } from '../host';

export function define(): void {
  suite('asking', () => {
    test('an answer streams, and the pieces are the answer', async () => {
      await select(await open('shop/pricing.py'), 'def total', 4);
      const place = currentPlace();
      assert.equal(place?.label, 'shop/pricing.py:20-23');
      const question = asking({ text: QUESTION, place });
      const exchange = await question.done;
      assert.equal(exchange.outcome, 'answered', exchange.error);
      assert.ok(question.pieces.length > 1, `${question.pieces.length} pieces`);
      assert.equal(question.pieces.join(''), exchange.answer);
      assert.ok(question.messages.length > 0);
      const kept = question.kept.at(-1);
      assert.equal(kept?.after, 0);
      assert.deepEqual(kept.spans, exchange.spans.toSorted((a, b) => b.score - a.score));
      assert.equal(winnow.service.history().at(-1)?.id, exchange.id);
    });

    test('a citation opens the right line', async () => {
      const exchange = winnow.service.history().at(-1);
      const [citation] = exchange?.citations ?? [];
      assert.ok(citation, exchange?.answer);
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      await openLocation(citation);
      const opened = vscode.window.activeTextEditor;
      assert.equal(opened?.document.uri.toString(), citation.uri);
      assert.equal(opened.selection.active.line, citation.range.start.line);
    });

    test('a question is about what changed, saved or not', async () => {
      const exchange = await committed(async () => {
        const editor = await open('shop/checkout.py');
        await editor.edit((edit) => { edit.insert(new vscode.Position(editor.document.lineCount, 0), '\n\ndef refund(order):\n    return pay(order, 0)\n'); });
        const asked = await asking({ text: '@changes What could this break?' }).done;
        await vscode.commands.executeCommand('workbench.action.files.revert');
        return asked;
      });
      assert.equal(exchange.outcome, 'answered', exchange.error);
      assert.equal(exchange.question, 'What could this break?');
      assert.ok(exchange.spans.some(({ name }) => name === 'refund'), JSON.stringify(exchange.spans.map(({ name }) => name)));
    });

    test('a question is about when something changed, which only commits tell', async () => {
      const question = { text: '@when was the shop opened?' };
      const { outcome, error } = await asking(question).done;
      assert.equal(outcome, 'failed');
      assert.match(error ?? '', /lies in no git repository/);
      const exchange = await committed(() => asking(question).done);
      assert.equal(exchange.outcome, 'answered', exchange.error);
      assert.equal(exchange.question, 'was the shop opened?');
      assert.ok(exchange.answer.length > 0);
    });

    test('cancelling while the prompt is read stops the work', async () => {
      await configure({ budget: 1500 });
      const question = asking({ text: LONG_QUESTION }, { message: (text, cancel) => { if (text.startsWith('reading')) cancel(); } });
      const exchange = await question.done;
      assert.deepEqual([exchange.outcome, exchange.answer, question.pieces], ['cancelled', '', []]);
      await idle();
    });

    test('cancelling in the middle of an answer keeps what came', async () => {
      await configure({ ...SHORT, maxTokens: 500 });
      const question = asking({ text: QUESTION }, { piece: (cancel) => { cancel(); } });
      const exchange = await question.done;
      assert.equal(exchange.outcome, 'cancelled');
      assert.equal(exchange.answer, question.pieces.join(''));
      assert.ok(exchange.answer.length > 0);
      await idle();
      await configure(SHORT);
    });
  });
}

/** Do something while the folder is a repository with one commit. */
async function committed<T>(work: () => Promise<T>): Promise<T> {
  const root = folder().fsPath;
  const git = (...words: string[]): Buffer => execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...words], { cwd: root });
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '-m', 'Open the shop');
  try {
    return await work();
  } finally {
    await rm(join(root, '.git'), { recursive: true });
  }
}
