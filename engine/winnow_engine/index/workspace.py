"""A workspace as the engine sees it: its files, and all their units in one numbered row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Cancellation, Cursor, Unit
from winnow_engine.errors import PositionError, WorkspaceError
from winnow_engine.index.files import FileRules, scan
from winnow_engine.index.lexical import LexicalIndex
from winnow_engine.index.lines import Lines
from winnow_engine.index.naming import SymbolTable
from winnow_engine.index.records import analysis_of, record_of
from winnow_engine.index.store import Store, content_key
from winnow_engine.index.symbols import FileAnalysis, analyse
from winnow_engine.index.units import enclosing

_NAMESPACE = "units-1"  # count up whenever the units or symbols of an unchanged file would change


@dataclass(frozen=True)
class IndexedFile:
    """One file with its analysis. `key` names its records in the store."""

    path: str
    data: bytes
    key: str
    analysis: FileAnalysis

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units that tile the file."""
        return self.analysis.units

    @cached_property
    def lines(self) -> Lines:
        """The file's line table."""
        return Lines(self.data)

    def text(self, start_byte: int, end_byte: int) -> str:
        """Part of the file as text; bytes that are not UTF-8 become U+FFFD."""
        return self.data[start_byte:end_byte].decode("utf-8", "replace")

    def text_of(self, unit: Unit) -> str:
        """A unit's text."""
        return self.text(unit.start_byte, unit.end_byte)

    def text_of_lines(self, start_line: int, end_line: int) -> str:
        """The text of some lines, 1-based and inclusive."""
        return self.text(*self.lines.span(start_line, end_line))


@dataclass(frozen=True)
class Workspace:
    """The files of one root, in path order. Units are numbered through: file by file, in file order."""

    root: Path
    files: tuple[IndexedFile, ...]

    @cached_property
    def unit_starts(self) -> NDArray[np.int64]:
        """int64 [F+1]: file f has the units unit_starts[f]:unit_starts[f+1]."""
        return np.cumsum([0, *(len(file.units) for file in self.files)])

    @cached_property
    def units(self) -> tuple[tuple[IndexedFile, Unit], ...]:
        """Every unit with its file, by number."""
        return tuple((file, unit) for file in self.files for unit in file.units)

    @cached_property
    def lexical(self) -> LexicalIndex:
        """The words of all units."""
        return LexicalIndex([file.text_of(unit) for file, unit in self.units])

    @cached_property
    def symbols(self) -> SymbolTable:
        """The names all units define."""
        return SymbolTable(self._definitions(), len(self.units))

    def file_number(self, path: str) -> int:
        """The place of `path` among the files; PositionError if it is not one of them."""
        for number, file in enumerate(self.files):
            if file.path == path:
                return number
        raise PositionError(f"{path} is not among the workspace's files; `winnow index --explain {path}` says why")

    def unit_at(self, path: str, line: int) -> int:
        """The number of the unit that holds a line. PositionError if there is no such file or line."""
        number = self.file_number(path)
        count = self.files[number].lines.count
        if not 1 <= line <= count:
            raise PositionError(f"{path} has {count} lines; there is no line {line}")
        return int(self.unit_starts[number]) + enclosing(self.files[number].units, line)

    def selected_text(self, cursor: Cursor) -> str:
        """The selected lines, or for a single line the whole unit around it."""
        first = self.unit_at(cursor.path, cursor.start_line)
        self.unit_at(cursor.path, cursor.end_line)
        file, unit = self.units[first]
        if cursor.start_line == cursor.end_line:
            return file.text_of(unit)
        return file.text_of_lines(cursor.start_line, cursor.end_line)

    def _definitions(self) -> Iterator[tuple[str, int]]:
        for start, file in zip(self.unit_starts, self.files, strict=False):
            for name, unit in file.analysis.symbols.definitions:
                yield name, int(start) + unit


def read_workspace(root: Path, rules: FileRules, store: Store, cancellation: Cancellation) -> Workspace:
    """Read all files that count, taking the analysis of unchanged ones from `store`. WorkspaceError if none."""
    sources = []
    for source in scan(root, rules, checkpoint=cancellation.check):
        cancellation.check()
        sources.append((source.path, source.data, content_key(source.path, source.data)))
    known = store.get(_NAMESPACE, [key for _, _, key in sources])
    files = []
    for path, data, key in sources:
        cancellation.check()
        if key in known:
            analysis = analysis_of(known[key])
        else:
            analysis = analyse(path, data)
            store.put(_NAMESPACE, key, record_of(analysis))
        files.append(IndexedFile(path, data, key, analysis))
    if not files:
        raise WorkspaceError(f"no file in {root} counts; `winnow index --explain PATH` says why one does not")
    return Workspace(root, tuple(files))
