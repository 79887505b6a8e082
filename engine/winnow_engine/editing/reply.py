"""The code in a model's answer, indented for its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from winnow_engine.editing.changes import FileEdit
from winnow_engine.errors import AmbiguousCodeError, NoCodeError, UnchangedError
from winnow_engine.index.lines import text_lines
from winnow_engine.prompting.markdown import FENCE, fenced

_FENCES = re.compile(rf"^{FENCE.pattern}\n?", re.MULTILINE)
_WIDTH = 4  # spaces that a tab stands for where nothing tells


def indentation(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def reindented(code: Sequence[str], like: Sequence[str]) -> list[str]:
    """Lines of code moved to where the first one of `like` stands, tabs included. Lines left of the first one stay.

    So do lines of strings: those that `like` has as they are, and not moved. A line that ends `like` is no such line.
    """
    spaced = _as_tabs_or_spaces(code, tabs=_has_tabs(like))
    old, new = _first(spaced), _first(like)
    moved = [new + line.removeprefix(old) if line.strip() and line.startswith(old) else line for line in spaced]
    own = {*like} - {new + like[-1].lstrip()}
    return [line if line in own and there not in like else there for line, there in zip(code, moved, strict=True)]


def _first(lines: Iterable[str]) -> str:
    return next((indentation(line) for line in lines if line.strip()), "")


def _has_tabs(lines: Iterable[str]) -> bool | None:
    indented = [line for line in lines if line.strip() and line[0] in " \t"]
    return any(line[0] == "\t" for line in indented) if indented else None


def _as_tabs_or_spaces(code: Sequence[str], tabs: bool | None) -> Sequence[str]:
    has = _has_tabs(code)
    if tabs is None or has is None or has == tabs:
        return code
    if not tabs:
        return [line.replace("\t", " " * _WIDTH, indentation(line).count("\t")) for line in code]
    depths = sorted({len(indentation(line)) for line in code if line.strip()})
    width = min((deeper - depth for depth, deeper in pairwise(depths)), default=0) or _WIDTH
    return ["\t" * (len(indentation(line)) // width) + line[len(indentation(line)) // width * width :] for line in code]


Read = Callable[[str], FileEdit]
"""Makes an edit, which may be empty, of a block of code. Raises NoCodeError if the block has not what was asked for."""


def code_blocks(text: str, expected: str, *, closed: bool = False) -> Iterator[str]:
    """The contents of the fenced blocks, else the text, each ended by a line end; with `closed` only ended blocks.

    A block that its own fences would close goes on to the last fence. It has to hold as many as `expected` does, or to
    be in that language and hold blocks of which each names its own.
    """
    asked, fences = (list(_FENCES.finditer(one)) for one in (expected, text))
    first = fences[0]["fence"] if fences else ""
    inner, own = ([one for one in some if one["fence"].startswith(first)] for some in (asked[1:-1], fences))
    infos = [one["info"].strip() for one in own]
    if not own:
        blocks = [text] * (not closed and not inner)
    elif inner or any(infos[1::2]):
        whole = not closed and not infos[-1] and (len(own) == len(inner) + 2 or _is_paired(infos, asked))
        blocks = [text[own[0].end() : own[-1].start()]] * whole
    else:
        blocks = [code for start, code, end in fenced(text) if start and (end[-1:] == "\n" if closed else end or code)]
    yield from ("".join(f"{line}\n" for line in text_lines(code)) for code in blocks)


def _is_paired(infos: Sequence[str], asked: Sequence[re.Match[str]]) -> bool:
    """True if only the first fence names the language asked for, and of those within every second one names another."""
    language, *others = [one["info"].strip() for one in asked[:-1]] or [""]
    in_turn = [True, False] * (len(infos) // 2 - 1)
    return language not in ("", *others) and infos[0] == language and [*map(bool, infos[1:-1])] == in_turn


def edit_of(reply: str, read: Read, expected: str = "", *, whole: bool = True) -> FileEdit:
    """The edit that an answer means: its blocks, or where it has none all of it; if not `whole`, blocks that ended.

    `expected` is the block that was asked for. Raises NoCodeError, UnchangedError, AmbiguousCodeError.
    """
    edits = list(_edits(code_blocks(reply, expected, closed=not whole), read))
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


def is_enough(text: str, read: Read, expected: str = "") -> bool:
    """True if the answer so far has a whole block that changes something."""
    return any(edit.edits for edit in _edits(code_blocks(text, expected, closed=True), read))


def _edits(blocks: Iterator[str], read: Read) -> Iterator[FileEdit]:
    for block in blocks:
        try:
            yield read(block)
        except NoCodeError:
            continue
