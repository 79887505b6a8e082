import { expect, test } from 'vitest';
import type { Range } from '../../src/ask/contract';
import { insertion } from '../../src/ask/inserting';
import { titleOf } from '../../src/ask/wording';

function selected(line: number, character: number, lastLine: number, lastCharacter: number): Range {
  return { start: { line, character }, end: { line: lastLine, character: lastCharacter } };
}

function cursor(line: number): Range {
  return selected(line, 0, line, 0);
}

const CODE = '    for c in codes:\n        if c:\n\n            return c\n';
const BODY = ['class A:', '    def f(self):', '        if x:', '            raise', '', '        return 1'];

test.each([
  ['after the line of the cursor', BODY, cursor(3), '    ', { line: 4, replaced: 0, text: '            for c in codes:\n                if c:\n\n                    return c\n' }],
  ['in place of a blank line', BODY, cursor(4), '    ', { line: 4, replaced: 1, text: '            for c in codes:\n                if c:\n\n                    return c\n' }],
  ['inside of a block that opens', BODY, cursor(2), '    ', { line: 3, replaced: 0, text: '            for c in codes:\n                if c:\n\n                    return c\n' }],
  ['with tabs', ['\tfoo()'], cursor(0), '\t', { line: 1, replaced: 0, text: '\tfor c in codes:\n\t\tif c:\n\n\t\t\treturn c\n' }],
  ['into an empty file', [''], cursor(0), '  ', { line: 0, replaced: 1, text: 'for c in codes:\n  if c:\n\n    return c\n' }],
] as const)('code of an answer goes %s, indented as what is around it', (_, lines, selection, unit, expected) => {
  expect(insertion(CODE, lines, selection, unit)).toEqual(expected);
});

test.each([
  ['lines up to the start of the next', selected(2, 0, 4, 0), { line: 2, replaced: 2, text: '        new()\n' }],
  ['lines up to their end', selected(1, 0, 3, 17), { line: 1, replaced: 3, text: '    new()\n' }],
  ['the text of a line', selected(5, 8, 5, 16), { line: 5, replaced: 1, text: '        new()\n' }],
  ['a word', selected(5, 8, 5, 14), { line: 6, replaced: 0, text: '        new()\n' }],
  ['lines but for the first word', selected(2, 11, 4, 0), { line: 4, replaced: 0, text: '            new()\n' }],
  ['lines but for the last word', selected(1, 0, 3, 12), { line: 4, replaced: 0, text: '            new()\n' }],
])('where %s is selected, only whole lines are replaced', (_, selection, expected) => {
  expect(insertion('new()\n', BODY, selection, '    ')).toEqual(expected);
});

test.each([
  ['four spaces', '/**\n * The fee.\n */\nf() {\n    if (a)\n        b();\n}\n', '/**\n * The fee.\n */\nf() {\n\tif (a)\n\t\tb();\n}\n'],
  ['tabs', '/**\n *\tThe fee.\n *\n */\nf() {\n\tb();\n}\n', '/**\n *\tThe fee.\n *\n */\nf() {\n\tb();\n}\n'],
  ['a method', 'class A {\n  /**\n   * The fee.\n   */\n  f() {}\n}\n', 'class A {\n\t/**\n\t * The fee.\n\t */\n\tf() {}\n}\n'],
  ['one space', 'f()\n *p = 1\n  *q = 2\n', 'f()\n\t*p = 1\n\t\t*q = 2\n'],
  ['a list', '* a\n    * b\n', '* a\n\t* b\n'],
  ['stars after a comment', '/* f\n * g */\nf()\n  * p = 1;\n', '/* f\n * g */\nf()\n\t* p = 1;\n'],
  ['spaces in OCaml', '(** Adds.\n * Twice. *)\nlet f x =\n  x\n', '(** Adds.\n * Twice. *)\nlet f x =\n\tx\n'],
  ['nothing else', '/**\n * The fee.\n */\n', '/**\n * The fee.\n */\n'],
])('a comment with a star before each line stays aligned, and code indented by %s gets levels', (_, code, expected) => {
  expect(insertion(code, [''], cursor(0), '\t').text).toEqual(expected);
});

test.each([
  ['Why is `Cart::total` so? Name each commit that made it so by its id.', 'Why is `Cart::total` so?'],
  ['Explain `round_up`: what it does, how, and what it relies on.', 'Explain `round_up`'],
  ['Explain this problem in `f`, and how to fix it:\n- unused', 'Explain this problem in `f`'],
])('the title of %s', (question, title) => { expect(titleOf(question)).toBe(title); });

