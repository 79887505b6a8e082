import { defineConfig } from 'vitest/config';

/** The page of the Ask view in real headless Chromium, one at a time. */
export default defineConfig({
  test: { include: ['test/ui/**/*.test.ts'], globalSetup: 'test/ui/build.ts', fileParallelism: false, testTimeout: 180_000, hookTimeout: 180_000 },
});
