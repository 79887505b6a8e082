// Builds dist/extension.js for the extension host, dist/ask.js with dist/ask.css for the Ask view, and their licences;
// dist/llama is what builds llama.cpp when the server is set up; into dist/server a release puts the server's wheel.
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { build, context } from 'esbuild';
import { notices } from './notices.mjs';
import { leaner } from './leaner.mjs';

const shared = { bundle: true, minify: true, sourcemap: true, logLevel: 'warning', legalComments: 'none', metafile: true };
const extension = {
  ...shared,
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.js',
  platform: 'node',
  format: 'cjs',
  target: 'node22',
  external: ['vscode'],
  plugins: [leaner],
};
const view = {
  ...shared,
  entryPoints: { ask: 'src/ask/webview/main.ts' },
  outdir: 'dist',
  platform: 'browser',
  format: 'iife',
  target: 'es2022',
  plugins: [leaner],
};

/** Suites for the extension host, in dist/test. */
const suites = {
  ...extension,
  entryPoints: ['changes', 'folders', 'main'].map((name) => `test/e2e/${name}.ts`),
  outfile: undefined,
  outdir: 'dist/test',
  outExtension: { '.js': '.cjs' },
  minify: false,
  external: ['vscode', 'mocha'],
};

for (const folder of ['dist/llama', 'dist/server']) rmSync(folder, { recursive: true, force: true });
cpSync('../engine/winnow_llama', 'dist/llama', { recursive: true, filter: (path) => !path.includes('__pycache__') });

if (process.argv.includes('--watch')) {
  for (const options of [extension, view]) await (await context(options)).watch();
} else {
  const built = await Promise.all([build(extension), build(view), build(suites)]);
  writeFileSync('dist/third-party.txt', notices(built.slice(0, 2).map(({ metafile }) => metafile)));
}
