/** Questions to begin with: the server makes them from the workspace, and reads the best one ahead. */
import * as vscode from 'vscode';
import { PrepareRequest, StartersRequest } from '../server/protocol';
import type { Session } from '../server/session';

export class Starters implements vscode.Disposable {
  questions: string[] = [];
  private begun = false;
  private shown = false;
  private readonly cancellation = new vscode.CancellationTokenSource();
  private readonly subscription: vscode.Disposable;

  /** `fresh`: whether nothing was asked here yet, and the first click is to be answered at once. */
  constructor(private readonly session: Session, private readonly tell: (questions: string[]) => void, private readonly fresh: () => boolean) {
    this.subscription = session.onDidChange(() => { this.begin(); });
  }

  /** The page shows questions to begin with. */
  show(): void {
    this.shown = true;
    this.begin();
  }

  dispose(): void {
    this.cancellation.cancel();
    this.subscription.dispose();
  }

  private begin(): void {
    const { state } = this.session;
    if (state.kind !== 'running') this.begun = false;
    if (state.kind !== 'running' || this.begun || !this.shown) return;
    this.begun = true;
    this.make().catch(() => { this.begun = false; }); // the server went, or is older: the usual questions stay
  }

  private async make(): Promise<void> {
    const { token } = this.cancellation;
    const client = await this.session.ready(token);
    const { questions } = await client.sendRequest(StartersRequest, token);
    this.questions = questions;
    this.tell(questions);
    const [best] = questions;
    if (best !== undefined && this.fresh()) await client.sendRequest(PrepareRequest, { question: best }, token);
  }
}
