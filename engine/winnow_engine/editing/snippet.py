"""Imports and definitions in a block of code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from winnow_engine.core import Unit, UnitKind
from winnow_engine.editing.changes import LineEdit, inserting
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.lines import text_lines
from winnow_engine.index.symbols import analyse

_DEFINITIONS = (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER)


@dataclass(frozen=True, slots=True)
class SnippetUnit:
    """Lines of a snippet that are one unit, without blank lines around them. `name` is simple; it may be empty."""

    kind: UnitKind
    name: str
    lines: tuple[str, ...]
    inside: bool

    @property
    def defines(self) -> bool:
        """True for a definition."""
        return self.kind in _DEFINITIONS


def units_of(code: str, path: str) -> list[SnippetUnit]:
    """The units of a snippet, read in the language of `path`. `inside` tells those that stand in a class."""
    lines = text_lines(code)
    return [_piece(unit, lines) for unit in analyse(path, code.encode()).units]


def _piece(unit: Unit, lines: Sequence[str]) -> SnippetUnit:
    own = lines[unit.start_line - 1 : unit.end_line]
    while own and not own[-1].strip():
        own = own[:-1]
    while own and not own[0].strip():
        own = own[1:]
    return SnippetUnit(unit.kind, unit.name.rpartition(".")[2], tuple(own), unit.parent is not None)


def new_imports(pieces: Iterable[SnippetUnit], file: IndexedFile) -> Iterator[LineEdit]:
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
