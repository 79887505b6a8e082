/**
 * Runs one job at a time: whoever asks while it runs gets one more run after it, shared with all who asked meanwhile.
 * So ten changes of a setting restart a server twice at most, and the last run has seen the last change.
 */
export function coalesce(job: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const start = (): Promise<void> => {
    running = job().finally(() => {
      running = undefined;
    });
    return running;
  };
  return () => {
    if (running === undefined) return start();
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
}
