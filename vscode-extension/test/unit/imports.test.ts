import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

function typescriptIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.ts')).map((name) => join(folder, name));
}

/** The files of ours that a file imports, types included. */
function imported(file: string): string[] {
  const names = ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles.map(({ fileName }) => fileName);
  const files = names.filter((name) => name.startsWith('.')).map((name) => `${join(dirname(file), name)}.ts`);
  return files.filter(existsSync);
}

test('no files import each other in a circle, imports of types counted', () => {
  const files = ['src', 'test'].flatMap((folder) => typescriptIn(join(ROOT, folder)));
  const done = new Set<string>();
  const circles: string[][] = [];
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file]);
    if (done.has(file) || path.includes(file)) return;
    for (const next of imported(file)) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(files.length).toBeGreaterThan(80);
  expect(circles).toEqual([]);
});
