"""Fix a problem: the target writes the function anew, and the lines that differ are the edit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from winnow_engine.core import DEFINITIONS, Unit, UnitKind
from winnow_engine.editing.changes import FileEdit, LineEdit, inserting, replacing
from winnow_engine.editing.edited_lines import EditedLines, lines_to_edit
from winnow_engine.editing.reply import reindented
from winnow_engine.editing.request import EditTask, WantedEdit
from winnow_engine.errors import NoCodeError
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.lines import text_lines
from winnow_engine.index.outline import syntax_errors
from winnow_engine.index.symbols import analyse
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question

_COMMENT = re.compile(r"\s*(#|//|/\*|\*|--|@)")
_ELISION = re.compile(
    r"(\.{3}|…)(.*(\.{3}|…))?$|(#|//|\{?/\*|\*\s|--|<!--|[%;]|\.{3}|…)\W*"
    r"(\.{3}|…|.*\bexisting code\b|(the )?(rest|remaining)\b.*\b(code|function|method|class|body|same|unchanged)\b)",
    re.IGNORECASE,
)
_LONGEST_LINE = 120  # characters of the line with the problem


@dataclass(frozen=True, slots=True)
class _SnippetUnit:
    """Lines of a snippet that are one unit, without blank lines around them. `name` is simple; it may be empty."""

    kind: UnitKind
    name: str
    lines: tuple[str, ...]


def fixing(workspace: Workspace, request: WantedEdit) -> EditTask:
    """The task to fix problems at the cursor."""
    passage = lines_to_edit(workspace, request.cursor)
    it = f"the function `{passage.name}`" if passage.definition else "this code"
    prompt = (
        f"{passage.file.path}\n{passage.fenced}\n\n{_where(passage, request)}\n{request.listed}\n\n"
        f"Fix {it}. Change as little as possible. Answer with all of {it}, fixed, in one code block and nothing else."
    )
    question = Question(f"Fix this problem in {passage.called}:\n{request.listed}", passage.cursor)
    return EditTask(
        f"Fix {passage.called}",
        question,
        (passage.cursor,),
        prompt,
        passage.fenced,
        lambda code: FileEdit(passage.file.path, passage.file.data, tuple(_edits(passage, code))),
    )


def _where(passage: EditedLines, request: WantedEdit) -> str:
    first, last = request.cursor.start_line, request.cursor.end_line
    line = passage.file.text_of_lines(first, last).strip() if first <= passage.file.lines.count else ""
    if first != last or not line or len(line) > _LONGEST_LINE:
        return "The problem:"
    return f"The problem, at `{line}`:"


def _edits(passage: EditedLines, code: str) -> Iterator[LineEdit]:
    """The imports that are new, and the lines of the passage that differ. In order: imports stand above functions."""
    given = text_lines(code)
    pieces = [_unit(unit, given) for unit in analyse(passage.file.path, code.encode()).units]
    lines = _of_function(passage, pieces) if passage.definition else given
    if _is_part(passage, lines):
        raise NoCodeError("the block is empty, or only part of the code")
    new = _with_kept_head(passage.lines, reindented(lines, passage.lines))
    imports = _new_imports(pieces, passage.file) if passage.definition else ()
    changed = list(replacing(passage.file.data, passage.start_line, passage.end_line, new))
    yield from (one for one in imports if not changed or one.end_line < changed[0].start_line)
    yield from changed


def _is_part(passage: EditedLines, new: Sequence[str]) -> bool:
    """True if lines stand for others or there are none; without a definition, also if fewer ones have neither end."""
    old, lines = ([line.strip() for line in some if line.strip()] for some in (passage.lines, new))
    added = [line for line in lines if line not in old]
    is_stub = added == ["..."] and "\n".join(lines).endswith(":\n...")  # a body of dots that is all that is new
    if not lines or (not is_stub and any(_ELISION.match(line) for line in added)):
        return True
    return not passage.definition and len(lines) < len(old) and {old[0], old[-1]}.isdisjoint(lines)


def _of_function(passage: EditedLines, pieces: Sequence[_SnippetUnit]) -> list[str]:
    """The lines of the function that was to be fixed. The last definition of the name counts, as it does when run."""
    found = [piece for piece in pieces if piece.kind in DEFINITIONS and piece.name == passage.name]
    if found:
        return list(found[-1].lines)
    lines = [line for piece in pieces for line in piece.lines]
    text = "\n".join(lines)
    if re.search(rf"\b{re.escape(passage.name)}\s*\(", text) and syntax_errors(passage.file.path, text.encode()):
        return lines  # and so refused as what it is
    raise NoCodeError(f"no {passage.name} in the block")


def _with_kept_head(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The new lines, below those comments and decorators that stood above the function and that they lack."""
    size = next((number for number, line in enumerate(old) if line.strip() and not _COMMENT.match(line)), 0)
    head = [line.strip() for line in old[:size]]
    first = new[0].strip()
    lacks = head.index(first) if first in head else 0 if _COMMENT.match(first) else size
    return [*old[:lacks], *new]


def _unit(unit: Unit, lines: Sequence[str]) -> _SnippetUnit:
    filled = [n for n in range(unit.start_line - 1, min(unit.end_line, len(lines))) if lines[n].strip()]
    own = lines[filled[0] : filled[-1] + 1] if filled else ()
    return _SnippetUnit(unit.kind, unit.name.rpartition(".")[2], tuple(own))


def _new_imports(pieces: Iterable[_SnippetUnit], file: IndexedFile) -> Iterator[LineEdit]:
    """The edit that adds those imports that a file does not have, after its last one; none if it has no imports."""
    has = {line.strip() for line in text_lines(file.text(0, len(file.data)))}
    lines = [line for piece in pieces if piece.kind is UnitKind.IMPORTS for line in piece.lines if line.strip()]
    wanted = [line for some in _statements(lines) if not has.issuperset(_words(some)) for line in some]
    last = max((unit.end_line for unit in file.units if unit.kind is UnitKind.IMPORTS), default=0)
    while last and not file.text_of_lines(last, last).strip():
        last -= 1
    if wanted and last:
        yield inserting(file.data, last + 1, wanted)


def _statements(lines: Iterable[str]) -> list[list[str]]:
    """Lines of imports as statements: one goes on with what is indented, or closes it."""
    found: list[list[str]] = []
    for line in lines:
        if found and (line[0] in " \t)}"):
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _words(lines: Iterable[str]) -> set[str]:
    """The lines without the space around them, those left out that have but punctuation."""
    return {line.strip() for line in lines if any(char.isalnum() for char in line)}
