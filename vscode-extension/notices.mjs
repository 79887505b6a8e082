// The licences of everything that is bundled, as they ask to be passed on.
import { readdirSync, readFileSync } from 'node:fs';

const CODICONS = `codicons 0.0.45 (outlines in the Ask view's buttons)

Copyright (c) Microsoft Corporation. Creative Commons Attribution 4.0 International,
https://creativecommons.org/licenses/by/4.0/. Coordinates are rounded to two places.
`;

/** The text of dist/third-party.txt, from what esbuild says of what it read. */
export function notices(metafiles) {
  const inputs = metafiles.flatMap(({ inputs }) => Object.keys(inputs));
  const folders = new Set(inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter((folder) => folder !== undefined));
  return [...[...folders].sort().map(notice), CODICONS].join(`\n${'-'.repeat(80)}\n\n`);
}

/** Fails where a package has no licence: then it cannot be shipped. */
function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  if (file === undefined) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, 'utf8').trim()}\n`;
}
