import { expect, test } from 'vitest';
import { insertion } from '../../src/ask/inserting';
import { titleOf } from '../../src/ask/wording';

const CODE = '    for c in codes:\n        if c:\n\n            return c\n';
const BODY = ['class A:', '    def f(self):', '        if x:', '            raise', '', '        return 1'];

test.each([
  ['after the line of the cursor', BODY, 3, '    ', { line: 4, replaces: false, text: '            for c in codes:\n                if c:\n\n                    return c\n' }],
  ['in place of a blank line', BODY, 4, '    ', { line: 4, replaces: true, text: '            for c in codes:\n                if c:\n\n                    return c\n' }],
  ['inside of a block that opens', BODY, 2, '    ', { line: 3, replaces: false, text: '            for c in codes:\n                if c:\n\n                    return c\n' }],
  ['with tabs', ['\tfoo()'], 0, '\t', { line: 1, replaces: false, text: '\tfor c in codes:\n\t\tif c:\n\n\t\t\treturn c\n' }],
  ['into an empty file', [''], 0, '  ', { line: 0, replaces: true, text: 'for c in codes:\n  if c:\n\n    return c\n' }],
] as const)('code of an answer goes %s, indented as what is around it', (_, lines, cursor, unit, expected) => {
  expect(insertion(CODE, lines, cursor, unit)).toEqual(expected);
});

test.each([
  ['Why is `Cart::total` so? Name each commit that made it so by its id.', 'Why is `Cart::total` so?'],
  ['Explain `round_up`: what it does, how, and what it relies on.', 'Explain `round_up`'],
  ['Explain this problem in `f`, and how to fix it:\n- unused', 'Explain this problem in `f`'],
])('the title of %s', (question, title) => { expect(titleOf(question)).toBe(title); });

