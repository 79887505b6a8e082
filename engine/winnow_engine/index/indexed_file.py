"""A file of a workspace: its place, its content, and its record in the index."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Unit, counted
from winnow_engine.errors import PositionError
from winnow_engine.index.languages import for_file
from winnow_engine.index.languages.base import Language
from winnow_engine.index.lines import Lines
from winnow_engine.index.records import analysed, analysis_of, units_key
from winnow_engine.index.stat_cache import Content
from winnow_engine.index.symbols import FileAnalysis
from winnow_engine.index.tables import Tables
from winnow_engine.storage.packs import Record


@dataclass(frozen=True, slots=True)
class Row:
    """A file's row in tables."""

    tables: Tables
    number: int


@dataclass(frozen=True)
class IndexedFile:
    """A file with its record: a row of tables, or alone until it has one. Bytes are read when needed.

    `local_path` is relative to the root of its folder: the drafter reads it.
    """

    path: str
    local_path: str
    content: Content
    entry: Row | Record

    @classmethod
    def of(
        cls, path: str, local_path: str, data: bytes, analyse: Callable[[str, bytes], Record] = analysed
    ) -> IndexedFile:
        """The file with these bytes."""
        return cls(path, local_path, Content.of(local_path, data), analyse(local_path, data))

    @property
    def key(self) -> str:
        """Key of the file's records in a store."""
        return self.content.key

    @cached_property
    def data(self) -> bytes:
        """The file's bytes."""
        return self.content.read()

    @cached_property
    def language(self) -> Language | None:
        """Its language, None if none has it."""
        return for_file(self.path, self.data)

    @cached_property
    def analysis(self) -> FileAnalysis:
        """Units and symbols."""
        if isinstance(self.entry, Row):
            return FileAnalysis(self.units, self.entry.tables.symbols_of(self.entry.number))
        return analysis_of(self.entry)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The units that tile the file."""
        return self.entry.tables.units_of(self.entry.number) if isinstance(self.entry, Row) else self.analysis.units

    @property
    def unit_count(self) -> int:
        """Number of units."""
        if isinstance(self.entry, Row):
            return self.entry.tables.counts[self.entry.number]
        return len(self.entry["units"])

    @cached_property
    def units_key(self) -> str:
        """Key of records made of the units: of content and of unit borders, which depend on the parser too."""
        if isinstance(self.entry, Row):
            return self.entry.tables.units_keys[self.entry.number]
        return units_key(self.key, self.entry["units"])

    @cached_property
    def lines(self) -> Lines:
        """The file's line table."""
        return Lines(self.data)

    @property
    def line_count(self) -> int:
        """Number of lines; the file is not read for it."""
        return self.units[-1].end_line if self.unit_count else 0

    def text(self, start_byte: int, end_byte: int) -> str:
        """Part of the file as text; bytes that are not UTF-8 become U+FFFD."""
        return self.data[start_byte:end_byte].decode("utf-8", "replace")

    def text_of(self, unit: Unit) -> str:
        """A unit's text."""
        return self.text(unit.start_byte, unit.end_byte)

    def texts(self, units: Sequence[Unit]) -> tuple[str, ...]:
        """The texts of some units. Unlike after `text_of`, the file's bytes are not kept."""
        data = self.content.read()
        return tuple(data[unit.start_byte : unit.end_byte].decode("utf-8", "replace") for unit in units)

    def text_of_lines(self, start_line: int, end_line: int) -> str:
        """The text of some lines, 1-based and inclusive."""
        return self.text(*self.lines.span(start_line, end_line))

    def check_line(self, line: int) -> None:
        """Raise PositionError if there is no such line."""
        if not 1 <= line <= self.line_count:
            raise PositionError(f"{self.path} has {counted(self.line_count, 'line')}; there is no line {line}")


class Units:
    """Every unit of some files with its file, by number. A file's units are made when one of them is asked for."""

    def __init__(self, files: Sequence[IndexedFile], starts: NDArray[np.int64]) -> None:
        self._files, self._starts = files, list[int](starts.tolist())

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, number: int) -> tuple[IndexedFile, Unit]:
        number = range(len(self))[number]
        file = bisect_right(self._starts, number) - 1
        return self._files[file], self._files[file].units[number - self._starts[file]]

    def __iter__(self) -> Iterator[tuple[IndexedFile, Unit]]:
        return ((file, unit) for file in self._files for unit in file.units)
