/** Announces events to screen readers, politely and at a pace that people can follow. */
const INTERVAL_MS = 3000;

export class Announcer {
  private waiting: string[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `region` has aria-live; its text is the last announcement. */
  constructor(private readonly region: HTMLElement) {}

  /** Announce at once, together with everything that waits: an action of the user, or the end of an answer. */
  say(text: string): void {
    this.waiting.push(text);
    this.speak();
  }

  /** Announce together with everything else that comes within the interval: pieces of an answer. */
  add(text: string): void {
    this.waiting.push(text);
    this.timer ??= setTimeout(() => { this.speak(); }, INTERVAL_MS);
  }

  private speak(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.region.textContent = this.waiting.join(' ');
    this.waiting = [];
  }
}
