/** Starts, watches and restarts the server: one at a time, only in trusted workspaces. */
import * as vscode from 'vscode';
import { DidChangeConfigurationNotification, type LanguageClient, type LanguageClientOptions } from 'vscode-languageclient/node';
import { coalesce } from './coalesce';
import { Crashes, MOST_CRASHES } from './crashes';
import type { Found } from './finding';
import { tellKept } from './kept';
import { KeptNotification, StatusNotification, type Status } from './protocol';
import { whyNotWinnow } from './program';
import { remedies } from './remedies';
import { Run } from './run';
import { UserError, whyNot, type ServerState } from './state';

export class Session implements vscode.Disposable {
  /** Stop the server, find it again and start it. Returns before it is ready. */
  readonly restart = coalesce(() => this.cycle());

  private readonly crashes = new Crashes();
  private readonly changed = new vscode.EventEmitter<ServerState>();
  private readonly reported = new vscode.EventEmitter<Status>();
  private run: Run | undefined;
  private current: ServerState = { kind: 'stopped' };
  private lastStatus: Status | undefined;
  private disposed = false;

  readonly onDidChange = this.changed.event;
  readonly onDidReport = this.reported.event;

  constructor(
    private readonly find: () => Promise<Found | undefined>,
    private readonly options: LanguageClientOptions,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  get state(): ServerState {
    return this.current;
  }

  /** The last status of the running server. */
  get status(): Status | undefined {
    return this.lastStatus;
  }

  get pid(): number | undefined {
    return this.run?.pid;
  }

  /** Restart at the user's request: earlier crashes no longer count. */
  async restartByHand(): Promise<void> {
    this.crashes.forget();
    await this.restart();
  }

  /** Make the server request its settings; one that is starting does so by itself. */
  settingsChanged(): void {
    void this.client?.sendNotification(DidChangeConfigurationNotification.type, { settings: null });
  }

  /** The client, if it is ready now. */
  get client(): LanguageClient | undefined {
    return this.current.kind === 'running' ? this.run?.client : undefined;
  }

  /** The client, once it is ready. Rejects with UserError if no server runs or starts, or `token` is cancelled. */
  ready(token?: vscode.CancellationToken): Promise<LanguageClient> {
    return new Promise((resolve, reject) => {
      const subscriptions: { dispose(): unknown }[] = [];
      const settle = (): void => {
        const why = token?.isCancellationRequested === true ? 'cancelled' : whyNot(this.current);
        if (why === undefined && this.current.kind !== 'running') return;
        for (const subscription of subscriptions) subscription.dispose();
        if (why === undefined && this.run !== undefined) resolve(this.run.client);
        else reject(new UserError(why));
      };
      subscriptions.push(this.onDidChange(settle));
      if (token !== undefined) subscriptions.push(token.onCancellationRequested(settle));
      settle();
    });
  }

  async dispose(): Promise<void> {
    this.disposed = true;
    await this.halt();
    this.changed.dispose();
    this.reported.dispose();
  }

  private async cycle(): Promise<void> {
    const kind = begin();
    this.move({ kind }); // before the first await, so that questions asked now wait
    await this.halt();
    if (this.disposed || kind !== 'starting') return;
    try {
      const found = await this.find();
      if (found === undefined) this.move({ kind: 'missing', message: 'The `winnow` command was not found. Run “Winnow: Set Up”.' });
      else this.launch(found);
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  private async halt(): Promise<void> {
    const run = this.run;
    this.run = undefined;
    this.lastStatus = undefined;
    if (run !== undefined) await run.stop(this.log);
  }

  private launch(found: Found): void {
    this.log.info(`starting ${found.command} (${found.source})`);
    const run = new Run(found.command, this.options, this.log, (ended, why) => { this.ended(ended, found.command, why); });
    this.run = run;
    this.move({ kind: 'starting', ...found });
    run.client.onNotification(KeptNotification, tellKept);
    run.client.onNotification(StatusNotification, (status) => {
      if (this.run !== run) return;
      this.lastStatus = status;
      this.reported.fire(status);
    });
    run.client.start().then(
      () => { this.started(run, found); },
      (error: unknown) => { this.refused(run, error); },
    );
  }

  private started(run: Run, found: Found): void {
    if (this.run !== run) return;
    this.move({ kind: 'running', ...found, version: run.client.initializeResult?.serverInfo?.version ?? '?' });
  }

  /** Called if the server answered `initialize` with an error, or broke off; if it ended, `ended` knows more. */
  private refused(run: Run, error: unknown): void {
    if (this.run !== run) return;
    this.log.error(`the server did not start: ${String(error)}`);
    void run.giveUp(`it did not start: ${error instanceof Error ? error.message : String(error)}`);
  }

  private ended(run: Run, command: string, why: string): void {
    if (this.run !== run) return;
    this.run = undefined;
    this.lastStatus = undefined;
    this.log.error(`the server ended: ${why}`);
    if (this.current.kind === 'running' && this.crashes.mayRestart()) {
      void vscode.window.showWarningMessage(`Winnow's server stopped unexpectedly and is restarted: ${why}`);
      this.move({ kind: 'stopped' });
      void this.restart();
      return;
    }
    if (this.current.kind === 'running') this.fail(`Winnow's server ended ${MOST_CRASHES + 1} times in 3 minutes: ${why}`);
    else void this.neverRan(command, why);
  }

  /** Say why a program did not get to serve: it may be another one. */
  private async neverRan(command: string, why: string): Promise<void> {
    const starting = this.current;
    const wrong = await whyNotWinnow(command);
    if (this.current === starting) this.fail(wrong ?? `Winnow's server did not start: ${why}`);
  }

  private fail(message: string): void {
    this.move({ kind: 'failed', message });
    const buttons = remedies(this.current).map(({ label, command }) => ({ title: label, command }));
    void vscode.window.showErrorMessage(message, ...buttons).then((choice) => choice && vscode.commands.executeCommand(choice.command));
  }

  private move(state: ServerState): void {
    this.current = state;
    this.changed.fire(state);
  }
}

/** The state in which a server is to be started, or why none is. */
function begin(): 'starting' | 'untrusted' | 'folderless' {
  if (!vscode.workspace.isTrusted) return 'untrusted';
  return vscode.workspace.workspaceFolders?.length ? 'starting' : 'folderless';
}
