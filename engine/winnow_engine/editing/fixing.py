"""Fix a problem: the target writes the function anew, and the lines that differ are the edit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from winnow_engine.editing.changes import FileEdit, LineEdit, replacing
from winnow_engine.editing.edited_lines import EditedLines, lines_to_edit
from winnow_engine.editing.indentation import reindented
from winnow_engine.editing.request import EditTask, WantedEdit
from winnow_engine.editing.snippet import SnippetUnit, new_imports, units_of
from winnow_engine.errors import NoCodeError
from winnow_engine.index.lines import text_lines
from winnow_engine.index.parsed import syntax_errors
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question

_COMMENT = re.compile(r"\s*(#|//|/\*|\*|--|@)")
_LONGEST_LINE = 120  # characters of the line with the problem


def fixing(workspace: Workspace, request: WantedEdit) -> EditTask:
    """The task to fix problems at the cursor."""
    passage = lines_to_edit(workspace, request.cursor)
    it = f"the function `{passage.name}`" if passage.definition else "this code"
    prompt = (
        f"{passage.fenced}\n\n{_where(passage, request)}\n{request.listed}\n\n"
        f"Fix {it}. Change as little as possible. Answer with all of {it}, fixed, in one code block and nothing else."
    )
    question = Question(f"Fix this problem in {passage.called}:\n{request.listed}", passage.cursor)
    return EditTask(
        f"Fix {passage.called}",
        question,
        (passage.cursor,),
        prompt,
        passage.text,
        lambda code: FileEdit(passage.file.path, passage.file.data, tuple(_edits(passage, code))),
    )


def _where(passage: EditedLines, request: WantedEdit) -> str:
    """Introduction of the problem, with its line if it has a single short one."""
    first, last = request.cursor.start_line, request.cursor.end_line
    line = passage.file.text_of_lines(first, last).strip() if first <= passage.file.lines.count else ""
    if first != last or not line or len(line) > _LONGEST_LINE:
        return "The problem:"
    return f"The problem, at `{line}`:"


def _edits(passage: EditedLines, code: str) -> Iterator[LineEdit]:
    """The imports that are new, and the lines of the passage that differ. In order: imports stand above functions."""
    pieces = units_of(code, passage.file.path)
    lines = _of_function(passage, pieces) if passage.definition else text_lines(code)
    if not any(line.strip() for line in lines):
        raise NoCodeError("the block is empty")
    new = _with_kept_head(passage.lines, reindented(lines, passage.lines))
    imports = new_imports(pieces, passage.file) if passage.definition else ()
    changed = list(replacing(passage.file.data, passage.start_line, passage.end_line, new))
    yield from (one for one in imports if not changed or one.end_line < changed[0].start_line)
    yield from changed


def _of_function(passage: EditedLines, pieces: Sequence[SnippetUnit]) -> list[str]:
    """The lines of the function that was to be fixed. The last definition of the name counts, as it does when run."""
    found = [piece for piece in pieces if piece.defines and piece.name == passage.name]
    if found:
        return list(found[-1].lines)
    lines = [line for piece in pieces for line in piece.lines]
    if re.search(rf"\b{re.escape(passage.name)}\s*\(", "\n".join(lines)) and _is_broken(lines, passage):
        return lines  # and so refused as what it is
    raise NoCodeError(f"no {passage.name} in the block")


def _is_broken(lines: Sequence[str], passage: EditedLines) -> bool:
    return bool(syntax_errors(passage.file.path, "\n".join(lines).encode()))


def _with_kept_head(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The new lines, below those comments and decorators that stood above the function and that they lack."""
    size = next((number for number, line in enumerate(old) if line.strip() and not _COMMENT.match(line)), 0)
    head = [line.strip() for line in old[:size]]
    first = new[0].strip()
    lacks = head.index(first) if first in head else 0 if _COMMENT.match(first) else size
    return [*old[:lacks], *new]
