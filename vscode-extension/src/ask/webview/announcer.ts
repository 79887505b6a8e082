/** Tells screen readers what happens: politely, and not more often than a person can listen. */
const INTERVAL_MS = 3000;

export class Announcer {
  private waiting: string[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `region` has aria-live; its text is what was said last. */
  constructor(private readonly region: HTMLElement) {}

  /** At once: what the user did, or the end of an answer. All that waited is said with it. */
  say(text: string): void {
    this.waiting.push(text);
    this.speak();
  }

  /** With what else comes within the interval: pieces of an answer. */
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
