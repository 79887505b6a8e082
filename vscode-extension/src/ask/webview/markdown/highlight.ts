import type { ElementContent, Root } from 'hast';
import bash from 'highlight.js/lib/languages/bash';
import cpp from 'highlight.js/lib/languages/cpp';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import typescript from 'highlight.js/lib/languages/typescript';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';

const lowlight = createLowlight({ bash, cpp, diff, go, ini, java, json, python, ruby, rust, typescript, yaml });
// Separate grammars would enlarge the page's script by a twelfth for little better colours.
lowlight.registerAlias({ cpp: ['c', 'h'], typescript: ['javascript', 'js', 'jsx', 'mjs', 'cjs', 'tsx'] });
const MOST = 50_000;

/** Code as text nodes and `span`s with a class; plain text if the language is unknown or the code is huge. */
export function highlighted(code: string, language: string): Node[] {
  if (code.length > MOST || !lowlight.registered(language)) return [document.createTextNode(code)];
  return lowlight.highlight(language, code).children.flatMap(node);
}

function node(child: Root['children'][number] | ElementContent): Node[] {
  if (child.type === 'text') return [document.createTextNode(child.value)];
  if (child.type !== 'element') return [];
  const span = document.createElement('span');
  const names = child.properties.className;
  span.className = Array.isArray(names) ? names.join(' ') : '';
  span.append(...child.children.flatMap(node));
  return [span];
}
