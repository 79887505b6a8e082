/** The number of crashes after which a server is no longer restarted. */
export const MOST_CRASHES = 3;
export const WITHIN_MS = 180_000;

/** Counts crashes; they are forgotten after `WITHIN_MS`, or when the user restarts the server. */
export class Crashes {
  private times: number[] = [];

  constructor(private readonly now: () => number = Date.now) {}

  /** Count a crash. True if the server may be started again. */
  mayRestart(): boolean {
    const now = this.now();
    this.times = [...this.times.filter((time) => now - time < WITHIN_MS), now];
    return this.times.length <= MOST_CRASHES;
  }

  forget(): void {
    this.times = [];
  }
}
