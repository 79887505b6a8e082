import { describe, expect, test, vi } from 'vitest';
import { coalesce } from '../../src/server/coalesce';
import { Crashes, MOST_CRASHES, WITHIN_MS } from '../../src/server/crashes';

describe('coalesce', () => {
  test('many calls while a job runs make one more run, which begins after it', async () => {
    const ends: (() => void)[] = [];
    const job = vi.fn(() => new Promise<void>((resolve) => ends.push(resolve)));
    const run = coalesce(job);
    const first = run();
    const others = [run(), run(), run()];
    expect(job).toHaveBeenCalledTimes(1);
    ends[0]?.();
    await first;
    await vi.waitFor(() => { expect(job).toHaveBeenCalledTimes(2); }, 30_000);
    ends[1]?.();
    await Promise.all(others);
    expect(job).toHaveBeenCalledTimes(2);
  });

  test('a job that failed does not keep the next from running', async () => {
    const job = vi.fn<() => Promise<void>>().mockRejectedValueOnce(new Error('no')).mockResolvedValue();
    const run = coalesce(job);
    const first = run();
    const second = run();
    await expect(first).rejects.toThrow('no');
    await second;
    expect(job).toHaveBeenCalledTimes(2);
  });

  test('calls one after the other run one after the other', async () => {
    const job = vi.fn(() => Promise.resolve());
    const run = coalesce(job);
    await run();
    await run();
    expect(job).toHaveBeenCalledTimes(2);
  });
});

describe('Crashes', () => {
  test('a few crashes are forgiven, and old ones forgotten', () => {
    let now = 0;
    const crashes = new Crashes(() => now);
    const outcomes = Array.from({ length: MOST_CRASHES + 1 }, () => crashes.mayRestart());
    expect(outcomes).toEqual([...Array<boolean>(MOST_CRASHES).fill(true), false]);
    now = WITHIN_MS;
    expect(crashes.mayRestart()).toBe(true);
  });

  test('a restart by hand wipes the slate', () => {
    const crashes = new Crashes(() => 0);
    for (let count = 0; count <= MOST_CRASHES; count++) crashes.mayRestart();
    crashes.forget();
    expect(crashes.mayRestart()).toBe(true);
  });
});
