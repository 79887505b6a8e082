/** One run of the server: its process, and the client that speaks to it. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';
import type * as vscode from 'vscode';
import { CloseAction, ErrorAction, LanguageClient, type LanguageClientOptions } from 'vscode-languageclient/node';
import { end, endsWithin, start } from './process';

const STOP_MS = 2000;
const LAST_WORDS_MS = 1000;
const REMEMBERED_LINES = 5;

/** A client that logs its errors: the session tells the user of a server that fails, once. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

export class Run {
  readonly client: LanguageClient;
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly lastLines: string[] = [];
  private givenUp: string | undefined;

  /** Start the process; `onEnd` is called once when it ends, with the last line it wrote. */
  constructor(command: string, options: LanguageClientOptions, log: vscode.LogOutputChannel, onEnd: (run: Run, why: string) => void) {
    this.child = start(command, ['serve'], { env: process.env });
    this.follow(log, onEnd);
    this.client = new QuietClient('winnow', 'Winnow', () => this.transports(), {
      ...options,
      outputChannel: log,
      // The session restarts the server and tells the user.
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
      },
      initializationFailedHandler: () => false,
    });
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** End a useless process, because of `why`. If it is ending by itself, it has a moment to say more. */
  async giveUp(why: string): Promise<void> {
    if (await endsWithin(this.child, LAST_WORDS_MS)) return;
    this.givenUp = why;
    await end(this.child);
  }

  /** Stop politely if it answers, and by force if not, even during `initialize`. Never rejects. */
  async stop(log: vscode.LogOutputChannel): Promise<void> {
    if (this.client.isRunning()) {
      await this.client.stop(STOP_MS).catch((error: unknown) => { log.warn(`stopping the server: ${String(error)}`); });
    }
    await end(this.child);
  }

  private transports(): Promise<{ reader: NodeJS.ReadableStream; writer: NodeJS.WritableStream; detached: boolean }> {
    return Promise.resolve({ reader: this.child.stdout, writer: this.child.stdin, detached: true });
  }

  private follow(log: vscode.LogOutputChannel, onEnd: (run: Run, why: string) => void): void {
    createInterface({ input: this.child.stderr }).on('line', (line) => {
      this.lastLines.push(line);
      this.lastLines.splice(0, this.lastLines.length - REMEMBERED_LINES);
      log.info(line);
    });
    this.child.once('error', (error) => { onEnd(this, error.message); });
    this.child.once('close', (code, signal) => {
      onEnd(this, [this.givenUp ?? `it ended with ${signal ?? `exit code ${code ?? '?'}`}`, ...this.lastLines.slice(-1)].join(': '));
    });
    this.child.stdin.on('error', (error) => { log.warn(`writing to the server: ${error.message}`); });
  }
}
