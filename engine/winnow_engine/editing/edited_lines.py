"""The lines that a change is about: the function around the cursor, or what else stands there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from winnow_engine.core import FUNCTIONS
from winnow_engine.errors import EditError
from winnow_engine.index.file_text import MARKED, NOTEBOOK
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.languages.base import Language
from winnow_engine.index.lines import text_lines
from winnow_engine.index.outline import Definition, parse_or_plain
from winnow_engine.index.units import cut_points
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.markdown import block
from winnow_engine.question import Cursor

_MOST_LINES = 150  # of a passage that a target writes anew
_AROUND = 50  # lines around the cursor, at most, of a longer one


@dataclass(frozen=True)
class EditedLines:
    """Whole lines of a file, 1-based and inclusive. `definition` is the function they are, None for other lines."""

    file: IndexedFile
    start_line: int
    end_line: int
    definition: Definition | None = None

    @property
    def name(self) -> str:
        """The simple name of the function; empty for other lines."""
        return self.definition.name.rpartition(".")[2] if self.definition else ""

    @property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return text_lines(self.file.text_of_lines(self.start_line, self.end_line))

    @property
    def cursor(self) -> Cursor:
        """The lines as a selection."""
        return Cursor(self.file.path, self.start_line, self.end_line)

    @property
    def called(self) -> str:
        """A name for it in a sentence."""
        return f"`{self.definition.name}`" if self.definition else "this code"

    @property
    def fenced(self) -> str:
        """The lines as a block of Markdown."""
        return fenced(self.lines, self.file.language)


def fenced(lines: Sequence[str], language: Language | None) -> str:
    """Lines of code as a block of Markdown."""
    return block("\n".join(lines), language.name if language else "")


def lines_to_edit(workspace: Workspace, cursor: Cursor) -> EditedLines:
    """The function around a cursor, else its units; a part where that is long. Raises PositionError, EditError."""
    cursor = workspace.settled(cursor)
    file = workspace.file(cursor.path)
    numbers = workspace.units_at(cursor)
    parsed = parse_or_plain(file.local_path, file.data)
    functions = [one for one in parsed.outline.definitions if one.kind in FUNCTIONS]
    around = [one for one in functions if one.first <= cursor.start_line and cursor.end_line <= one.last]
    if around:
        found = EditedLines(file, around[-1].first, around[-1].last, around[-1])
    else:
        first, last = (workspace.units[number][1] for number in (numbers[0], numbers[-1]))
        found = EditedLines(file, first.start_line, last.end_line)
    return _readable(_without_blank_end(found if len(found.lines) <= _MOST_LINES else _part(found, cursor)))


def _part(passage: EditedLines, cursor: Cursor) -> EditedLines:
    """The statements around a cursor in a long passage; no function, because its name is not all it has."""
    first, last = passage.start_line, passage.end_line
    units = [one for one in passage.file.units if first <= one.end_line and one.start_line <= last]
    parsed = parse_or_plain(passage.file.local_path, passage.file.data)
    cuts = [cut for unit in units for cut in cut_points(parsed, unit)]
    before = [cut for cut in cuts if cursor.start_line - _AROUND <= cut <= cursor.start_line]
    after = [cut - 1 for cut in [*cuts, last + 1] if cursor.end_line < cut <= cursor.end_line + _AROUND]
    start = max(first, min(before, default=cursor.start_line))
    return EditedLines(passage.file, start, min(last, max(after, default=cursor.end_line)))


def _without_blank_end(passage: EditedLines) -> EditedLines:
    lines = passage.lines
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    return EditedLines(passage.file, passage.start_line, passage.start_line + len(lines) - 1, passage.definition)


def _readable(passage: EditedLines) -> EditedLines:
    made_of = passage.file.content.made_of
    if made_of == NOTEBOOK:
        raise EditError(f"{passage.file.path} is a notebook: change its cells by hand")
    if made_of not in ("", MARKED):
        raise EditError(f"{passage.file.path} is not UTF-8 but {made_of}: open it as such, or convert it")
    return passage
