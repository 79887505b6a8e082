/** “Why These Spans?”: for the last answer, or for a question that is not answered. */
import * as vscode from 'vscode';
import type { AskListener, Question } from '../ask/contract';
import { askParams, type Service } from '../asking/service';
import { sendSpans } from '../asking/requests';
import type { SpansResult } from '../server/protocol';
import type { Session } from '../server/session';
import type { SpansView } from '../spans/view';
import { telling } from '../telling';
import { working } from '../working';

export class SpansCommands implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable;

  constructor(private readonly session: Session, private readonly service: Service, private readonly spans: SpansView) {
    this.subscriptions = vscode.Disposable.from(
      service.onDidChangeHistory(() => { this.follow(); }),
      vscode.commands.registerCommand('winnow.whyTheseSpans', () => this.why()),
      vscode.commands.registerCommand('winnow.findSpans', () => this.searchByHand()),
    );
  }

  /** The code that would be kept for a question, shown in the spans view. */
  async find(question: Question, listener: Pick<AskListener, 'progress'>, token: vscode.CancellationToken): Promise<SpansResult> {
    const result = await sendSpans(await this.session.ready(token), askParams(question), listener, token);
    await this.spans.reveal(result);
    return result;
  }

  /** The same, with progress that can be cancelled; undefined if it was cancelled, or failed and the user was told. */
  async search(question: Question): Promise<SpansResult | undefined> {
    let result: SpansResult | undefined;
    await telling(async () => { result = await working('searching', (listener, token) => this.find(question, listener, token)); });
    return result;
  }

  dispose(): void {
    this.subscriptions.dispose();
  }

  private async why(): Promise<void> {
    const last = this.service.history().findLast((exchange) => exchange.spans.length > 0);
    if (last !== undefined) await this.spans.reveal(last);
    else await this.searchByHand();
  }

  private async searchByHand(): Promise<void> {
    const text = await vscode.window.showInputBox({ title: 'Which code would Winnow keep for this question?', placeHolder: 'Where is the delivery fee decided?' });
    if (text?.trim()) await this.search({ text });
  }

  private follow(): void {
    const last = this.service.history().at(-1);
    if (last !== undefined && last.spans.length > 0) void this.spans.update(last);
  }
}
