// Leaves out of the bundles what vscode-languageclient brings and Winnow's server does not offer, a quarter of it, and
// all of marked but its lexer.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Features of LSP that the server has no part in; `test/e2e/main/server.ts` fails if that changes. And progress that the
 * server begins by itself: the extension shows that of its own requests, and the status bar the index.
 */
export const UNUSED = [
  'callHierarchy', 'colorProvider', 'completion', 'declaration', 'definition', 'diagnostic', 'documentHighlight', 'documentLink', 'documentSymbol',
  'fileOperations', 'foldingRange', 'formatting', 'hover', 'implementation', 'inlayHint', 'inlineCompletion', 'inlineValue', 'linkedEditingRange',
  'notebook', 'progress', 'reference', 'rename', 'selectionRange', 'semanticTokens', 'signatureHelp', 'typeDefinition', 'typeHierarchy', 'workspaceSymbol',
];
/** What the client's converters make for these features alone. */
const ITEMS = ['protocolCallHierarchyItem', 'protocolCompletionItem', 'protocolDocumentLink', 'protocolInlayHint', 'protocolTypeHierarchyItem', 'protocolWorkspaceSymbol'];
/** Messages of these features, which nothing sends. */
const MESSAGES = [
  'callHierarchy', 'colorProvider', 'declaration', 'diagnostic', 'fileOperations', 'foldingRange', 'implementation', 'inlayHint', 'inlineCompletion', 'inlineValue',
  'linkedEditingRange', 'moniker', 'notebook', 'selectionRange', 'semanticTokens', 'typeDefinition', 'typeHierarchy',
];
/** Stands for every class of such a feature: the client tells the server nothing of it, and registers nothing. */
const NOTHING = `class Nothing { fillClientCapabilities() {} initialize() {} getState() { return { kind: 'static' } } clear() {} }
module.exports = new Proxy({}, { get: () => Nothing });`;
/** The client compares VS Code's version with one long past; `engines` in package.json asks for a newer one. */
const ANY_VERSION = 'module.exports = (version) => version;';

const MARKED = /var (\w+)=new \w+;function (\w+)\(\w+,\w+\)\{return \1\.parse\([^]*?export\{[^]*?(\w+) as Lexer[^]*\};/;

/** Its default instance holds on to parsers and renderers. */
function lexerAlone(source) {
  if (!MARKED.test(source)) throw new Error('marked has another shape: see leaner.mjs');
  return source.replace(MARKED, 'export{$3 as Lexer};');
}

const TYPE = /export var (\w+);\n(?:\/\*\*(?:(?!\*\/)[^])*\*\/\n)?\(function \((\w+)\) \{\n[^]*?\n\}\)\(\2 \|\| \(\2 = \{\}\)\);/g;

/** The types of LSP without the helpers of those that neither the client nor the extension makes or checks. */
function typesInUse(source, users) {
  const helpers = new Map([...source.matchAll(TYPE)].map(([text, name]) => [name, text]));
  if (helpers.size < 50) throw new Error('vscode-languageserver-types has another shape: see leaner.mjs');
  const used = new Set();
  const visit = (text) => {
    for (const [, name] of text.matchAll(/\b([A-Z]\w+)\./g)) {
      if (!helpers.has(name) || used.has(name)) continue;
      used.add(name);
      visit(helpers.get(name));
    }
  };
  visit(users + source.replace(TYPE, ''));
  return source.replace(TYPE, (text, name) => (used.has(name) ? text : `export var ${name} = {};`));
}

/** Exports that pass on those of another module, as assignments, which are half as long. */
const PASSED_ON = /Object\.defineProperty\(exports, "(\w+)", \{ enumerable: true, get: function \(\) \{ return (\w+\.\w+); \} \}\);/g;

const ABSENT = new RegExp(`/(${[...UNUSED, ...ITEMS].join('|')})\\.js$`);

async function sources(folder) {
  const files = (await readdir(folder, { recursive: true })).filter((file) => /\.[jt]s$/.test(file) && !file.endsWith('.d.ts') && !ABSENT.test(file));
  return (await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))).join('\n').replace(/\/\*[^]*?\*\//g, '');
}

export const leaner = {
  name: 'leaner',
  setup(build) {
    const unused = new RegExp(`^\\.{1,2}/(common/)?(${[...UNUSED, ...ITEMS].join('|')})$`);
    build.onResolve({ filter: unused }, ({ importer }) => (importer.includes('vscode-languageclient') ? { path: 'unused', namespace: 'leaner' } : undefined));
    build.onResolve({ filter: new RegExp(`^\\./protocol\\.(${MESSAGES.join('|')})$`) }, () => ({ path: 'unused', namespace: 'leaner' }));
    build.onLoad({ filter: /./, namespace: 'leaner' }, () => ({ contents: NOTHING }));
    build.onLoad({ filter: /vscode-languageserver-types\/lib\/esm\/main\.js$/ }, async ({ path }) => {
      const users = ['node_modules/vscode-languageclient/lib', 'node_modules/vscode-languageserver-protocol/lib', 'src'];
      return { contents: typesInUse(await readFile(path, 'utf8'), (await Promise.all(users.map(sources))).join('\n')) };
    });
    build.onLoad({ filter: /vscode-(languageclient|languageserver-protocol|jsonrpc)\/lib\/.*\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(PASSED_ON, 'exports.$1 = $2;'),
    }));
    build.onLoad({ filter: /marked\.esm\.js$/ }, async ({ path }) => ({ contents: lexerAlone(await readFile(path, 'utf8')) }));
    build.onLoad({ filter: /semver\/functions\/(parse|satisfies)\.js$/ }, () => ({ contents: ANY_VERSION }));
  },
};
