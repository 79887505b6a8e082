"""Tables of many files, as arrays that can be mapped. A `TableSlice` says how a workspace numbers the units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from winnow_engine.core import Unit
from winnow_engine.index.bm25 import counted
from winnow_engine.index.names import spellings
from winnow_engine.index.postings import NO_PLACE, Array, Int64, Occurrences, Postings, Strings
from winnow_engine.index.records import names_of, occurrences, units_key, units_of
from winnow_engine.index.symbols import FileSymbols
from winnow_engine.storage.packs import Record, packed_keys, unpacked_keys

_OF_UNITS = ("words", "titles", "definitions", "references")
_BY_PLACE = ("definitions", "references")


@dataclass(frozen=True)
class Tables:
    """`arrays` by name:

    - of files: `paths`, which are workspace paths, as `Strings`; `keys` and `units_keys`, uint8 [F, 20]; `starts`,
      int64 [F + 1], so that file f has the units starts[f]:starts[f+1];
    - of units: `units`, int32 [U, 6], as in records.py; `names` as `Strings`; `lengths` and `title_lengths`, int32 [U];
    - `Postings` of units: `words`, `titles`, `definitions`, `references`; of files: `path_words`, with `path_lengths`;
    - `spellings` of the names in `definitions`.
    """

    arrays: Mapping[str, Array]

    @classmethod
    def of(cls, files: Sequence[tuple[str, str, Record]]) -> Tables:
        """The tables of new files: the path, content key and record of each."""
        rows = [record["units"] for _, _, record in files]
        starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        names = list(chain.from_iterable(names_of(record) for *_, record in files))
        arrays: dict[str, Array] = {
            "keys": packed_keys(key for _, key, _ in files),
            "units_keys": packed_keys(units_key(key, record["units"]) for _, key, record in files),
            "starts": starts,
            "units": np.concatenate([np.empty((0, 6), np.int32), *rows]),
            "lengths": np.concatenate([np.empty(0, np.int32), *(record["lengths"] for *_, record in files)]),
            **_strings("names", Strings.of(names)),
        }
        titles, arrays["title_lengths"] = counted(names)
        found: dict[str, list[Occurrences]] = {"titles": [titles]}
        for name in ("words", "definitions", "references"):
            found[name] = [_moved(occurrences(record, name), start) for (*_, record), start in zip(files, starts)]  # noqa: B905
        return cls(arrays | _of_paths([path for path, *_ in files]) | _postings(found, len(names)))

    @classmethod
    def joined(cls, parts: Sequence[TableSlice]) -> Tables:
        """Tables of a workspace, from those it consists of."""
        if len(parts) == 1 and parts[0].whole:
            return parts[0].tables
        arrays = {name: placed_files(parts, name) for name in ("keys", "units_keys")}
        arrays |= {name: placed(parts, name) for name in ("units", "lengths", "title_lengths")}
        sizes = _placed([(np.diff(part.tables.starts), part.files) for part in parts])
        arrays["starts"] = np.cumsum([0, *sizes], dtype=np.int64)
        names = _in_order([(part.tables.strings("names").all, part.units) for part in parts])
        paths = _in_order([(part.tables.paths, part.files) for part in parts])
        arrays |= _strings("names", Strings.of(names)) | _of_paths(paths)
        found = {name: [part.tables.postings(name).occurrences(part.units) for part in parts] for name in _OF_UNITS}
        return cls(arrays | _postings(found, len(names)))

    @property
    def starts(self) -> Int64:
        """The first unit of each file, and the number of units."""
        return self.arrays["starts"]

    @cached_property
    def counts(self) -> list[int]:
        """Number of units of each file."""
        counts: list[int] = np.diff(self.starts).tolist()
        return counts

    @cached_property
    def paths(self) -> list[str]:
        """The files' workspace paths."""
        return self.strings("paths").all

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The number of each file by its path."""
        return {path: number for number, path in enumerate(self.paths)}

    @cached_property
    def keys(self) -> list[str]:
        """The content key of each file."""
        return unpacked_keys(self.arrays["keys"])

    @cached_property
    def units_keys(self) -> list[str]:
        """The key of each file's units."""
        return unpacked_keys(self.arrays["units_keys"])

    def strings(self, name: str) -> Strings:
        """`paths` or `names`."""
        return Strings(self.arrays[f"{name}.text"], self.arrays[f"{name}.text_ends"])

    def postings(self, name: str) -> Postings:
        """Postings by name."""
        return Postings.of_arrays(name, self.arrays)

    def units_of(self, file: int) -> tuple[Unit, ...]:
        """The units of a file."""
        start, end = self.starts[file : file + 2].tolist()
        names = self.strings("names")
        return units_of(self.arrays["units"][start:end], [names[number] for number in range(start, end)])

    def symbols_of(self, file: int) -> FileSymbols:
        """The symbols of a file."""
        definitions, references = (tuple(self._pairs(name, file)) for name in _BY_PLACE)
        return FileSymbols(definitions, references)

    def _pairs(self, name: str, file: int) -> Iterator[tuple[str, int]]:
        start, end = self.starts[file : file + 2].tolist()
        postings = self.postings(name)
        return ((term, unit - start) for unit in range(start, end) for term in postings.at_place(unit))


@dataclass(frozen=True)
class TableSlice:
    """Tables as part of a workspace: its number of each of their files and units, int64, or NO_PLACE."""

    tables: Tables
    files: Int64
    units: Int64

    @property
    def whole(self) -> bool:
        """True if the workspace has all files of the tables."""
        return not (self.files == NO_PLACE).any()


def table_slice(tables: Tables, files: Int64, unit_starts: Int64) -> TableSlice:
    """Tables whose files have these numbers in a workspace, where file f has the units from unit_starts[f] on."""
    return TableSlice(tables, files, unit_numbers(tables.starts, files, unit_starts))


def unit_numbers(starts: Int64, files: Int64, unit_starts: Int64) -> Int64:
    """A workspace's numbers of the units of files that are cut at `starts` and have numbers `files`, or NO_PLACE."""
    gone, counts = files == NO_PLACE, np.diff(starts)
    first = np.where(gone, 0, unit_starts[np.maximum(files, 0)])
    units = np.repeat(first - starts[:-1], counts) + np.arange(starts[-1])
    return np.where(np.repeat(gone, counts), NO_PLACE, units)


def placed(parts: Sequence[TableSlice], name: str) -> Array:
    """An array of units as the workspace numbers these."""
    if len(parts) == 1 and parts[0].whole:
        return parts[0].tables.arrays[name]
    return _placed([(part.tables.arrays[name], part.units) for part in parts])


def placed_files(parts: Sequence[TableSlice], name: str) -> Array:
    """An array of files as the workspace numbers these."""
    return _placed([(part.tables.arrays[name], part.files) for part in parts])


def _placed(found: Sequence[tuple[Array, Int64]]) -> Array:
    """Rows by their numbers in the workspace, of which each has one."""
    first = found[0][0] if found else np.empty(0, np.int64)
    count = sum(int((numbers != NO_PLACE).sum()) for _, numbers in found)
    rows = np.zeros((count, *first.shape[1:]), first.dtype)
    for array, numbers in found:
        there = numbers != NO_PLACE
        rows[numbers[there]] = array[there]
    return rows


def _in_order(found: Sequence[tuple[Sequence[str], Int64]]) -> list[str]:
    pairs = ((number, text) for texts, numbers in found for text, number in zip(texts, numbers.tolist(), strict=True))
    return [text for number, text in sorted(pairs) if number != NO_PLACE]


def _postings(found: Mapping[str, Sequence[Occurrences]], units: int) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for name in _OF_UNITS:
        built = Postings.built(found[name], units, by_place=name in _BY_PLACE)
        arrays |= built.arrays(name)
        if name == "definitions":
            arrays |= spellings(built.terms).arrays("spellings")
    return arrays


def _of_paths(paths: Sequence[str]) -> dict[str, Array]:
    found, lengths = counted(paths)
    words = Postings.built([found], len(paths), by_place=False)
    return {**_strings("paths", Strings.of(paths)), "path_lengths": lengths, **words.arrays("path_words")}


def _strings(name: str, strings: Strings) -> dict[str, Array]:
    return {f"{name}.text": strings.text, f"{name}.text_ends": strings.ends}


def _moved(found: Occurrences, start: Any) -> Occurrences:
    return Occurrences(found.terms, found.rows + np.array([0, int(start), 0]))
