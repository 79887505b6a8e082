"""The code in a model's answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from winnow_engine.editing.changes import FileEdit
from winnow_engine.errors import AmbiguousCodeError, NoCodeError, UnchangedError
from winnow_engine.index.lines import text_lines

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

Read = Callable[[str], FileEdit]
"""Makes an edit, which may be empty, of a block of code. Raises NoCodeError if the block has not what was asked for."""


def code_blocks(text: str, *, closed: bool = False) -> Iterator[str]:
    """The contents of the fenced blocks, each ended by a line end; with `closed` without one that has no end yet."""
    fence, lines = "", list[str]()
    for line in text_lines(text):
        found = _FENCE.match(line)
        if not fence:
            fence, lines = (found[1], []) if found else ("", lines)
        elif found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
            yield _content(lines)
            fence = ""
        else:
            lines.append(line)
    if fence and lines and not closed:
        yield _content(lines)


def edit_of(reply: str, read: Read, *, whole: bool = True) -> FileEdit:
    """The edit that an answer means: its blocks, or where it has none all of it; if not `whole`, blocks that ended.

    Raises NoCodeError, UnchangedError, and AmbiguousCodeError for several blocks that mean different edits.
    """
    blocks = list(code_blocks(reply, closed=not whole))
    edits = list(_edits(blocks or [reply] * whole, read))
    changes = list(dict.fromkeys(edit for edit in edits if edit.edits))
    if len(changes) == 1:
        return changes[0]
    if changes:
        raise AmbiguousCodeError(
            f"the model's answer has {len(changes)} versions of the code; nothing was changed: ask again"
        )
    if edits:
        raise UnchangedError("the model gave the code back as it is: it sees nothing that has to change")
    raise NoCodeError("the model's answer has no code that could be used; nothing was changed: ask again")


def is_enough(text: str, read: Read) -> bool:
    """True if the answer so far has a whole block that changes something."""
    return any(edit.edits for edit in _edits(code_blocks(text, closed=True), read))


def _edits(blocks: Iterator[str] | list[str], read: Read) -> Iterator[FileEdit]:
    for block in blocks:
        try:
            yield read(block)
        except NoCodeError:
            continue


def _content(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
