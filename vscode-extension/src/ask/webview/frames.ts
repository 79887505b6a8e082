/** Draws at most once per animation frame, however often it is asked to. */
export class Frames {
  private wanted = false;

  constructor(private readonly draw: () => void) {}

  want(): void {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      this.draw();
    });
  }
}
