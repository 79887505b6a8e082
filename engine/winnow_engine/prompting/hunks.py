"""The hunks of a unified diff in a text, as `git diff` prints it, and the lines of a workspace that they changed.

A workspace may have the lines after a change, or, as with another's pull request, those before; perhaps further down.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby

from winnow_engine.git.trees import unquoted
from winnow_engine.index.lines import text_lines

_PATH = re.compile(r'(---|\+\+\+) ("[^\t]*"|[^\t"]+)')
_HUNK = re.compile(r"@@ -(\d{1,7})(?:,(\d{1,7}))? \+(\d{1,7})(?:,(\d{1,7}))? @@")
_MOST_HUNKS = 500  # that are looked for


class _Code:
    def __init__(self, path: str, lines: Sequence[str]) -> None:
        self.path, self._lines, self._text = path, lines, "\n".join(["", *lines, ""])

    def line_of(self, own: Sequence[str], first: int) -> int:
        """The line at which these lines are: `first`, or else the first such line; 0 if there is none."""
        if first and self._lines[first - 1 : first - 1 + len(own)] == own:
            return first
        return self._text.count("\n", 0, self._text.find("\n".join(["", *own, ""])) + 1)


def with_places_of_hunks(text: str, code_of: Callable[[str], tuple[str, Sequence[str]]]) -> str:
    """The text with `path:2-4` in place of a hunk, for each of its changes that the workspace has.

    `code_of` gives a file's path in the workspace and its lines, none if there is no such file.
    """
    lines, written, paths, hunks = iter(text_lines(text)), list[str](), dict[str, str](), 0
    code = cache(lambda path: _Code(*code_of(path)))
    for line in lines:
        if side := _PATH.match(line):
            path = unquoted(side[2].encode("utf-8", "surrogatepass"))
            paths[side[1][0]] = re.sub(r"^[a-z]/", "", path)
        if (head := _HUNK.match(line)) and len(paths) == 2 and hunks < _MOST_HUNKS:
            hunks += 1
            rows = _rows(head, lines)
            sides = (("+", int(head[3])), ("-", int(head[1])))
            found = (list(_places(rows, sign, code(paths[sign]), first)) for sign, first in sides)
            written += next(filter(None, found), [])
        else:
            written.append(line)
    return "\n".join(written)


def _rows(head: re.Match[str], lines: Iterator[str]) -> list[str]:
    """The lines of a hunk, as many as its head says."""
    before, after, rows = int(head[2] or 1), int(head[4] or 1), list[str]()
    while (before > 0 or after > 0) and (row := next(lines, None)) is not None:
        if not row.startswith("\\"):  # No newline at end of file
            before, after = before - (not row.startswith("+")), after - (not row.startswith("-"))
            rows.append(row)
    return rows


def _places(rows: Sequence[str], sign: str, code: _Code, first: int) -> Iterator[str]:
    """The places of a hunk's changes in code that has the side with this sign; of what it lacks, the line before."""
    own = [row[1:] for row in rows if row.startswith(sign) or not row.startswith(("+", "-"))]
    if not own or not (at := code.line_of(own, first)):
        return
    for changed, run in groupby(rows, key=lambda row: row.startswith(("+", "-"))):
        size = sum(not changed or row.startswith(sign) for row in run)
        if changed:
            start = at if size else max(at - 1, 1)
            yield f"{code.path}:{start}-{start + max(size, 1) - 1}"
        at += size
