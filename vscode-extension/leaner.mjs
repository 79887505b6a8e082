// Leaves out of the bundles what vscode-languageclient brings and Winnow's server does not offer, a quarter of it, and
// all of marked but its lexer.
import { readFile } from 'node:fs/promises';

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

export const leaner = {
  name: 'leaner',
  setup(build) {
    const unused = new RegExp(`^\\.{1,2}/(common/)?(${[...UNUSED, ...ITEMS].join('|')})$`);
    build.onResolve({ filter: unused }, ({ importer }) => (importer.includes('vscode-languageclient') ? { path: 'unused', namespace: 'leaner' } : undefined));
    build.onLoad({ filter: /./, namespace: 'leaner' }, () => ({ contents: NOTHING }));
    build.onLoad({ filter: /marked\.esm\.js$/ }, async ({ path }) => ({ contents: lexerAlone(await readFile(path, 'utf8')) }));
    build.onLoad({ filter: /semver\/functions\/(parse|satisfies)\.js$/ }, () => ({ contents: ANY_VERSION }));
  },
};
