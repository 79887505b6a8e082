"""A file's record: units, names, symbols and words, as arrays for the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Unit, UnitKind
from winnow_engine.index.bm25 import counted
from winnow_engine.index.names import occurring
from winnow_engine.index.postings import Occurrences
from winnow_engine.index.symbols import FileAnalysis, FileSymbols, analyse
from winnow_engine.storage.packs import Record

KINDS = tuple(UnitKind)
_NO_PARENT = -1
_END_BYTE = 2  # among a unit's numbers


def analysed(path: str, data: bytes) -> Record:
    """A file's record. Takes any bytes and never raises, as `analyse`."""
    return record_of(analyse(path, data), data)


def record_of(analysis: FileAnalysis, data: bytes) -> Record:
    """An analysis with the words of its units.

    `units` are int32 [U, 6]: kind, bytes and lines from and to, parent; rows of names and words are a term, a unit and
    a count, int32 [N, 3]. Terms and the units' names are JSON.
    """
    units = analysis.units
    words, lengths = counted(data[unit.start_byte : unit.end_byte].decode("utf-8", "replace") for unit in units)
    symbols = analysis.symbols
    return {
        "units": np.array([_numbers(unit) for unit in units], np.int32).reshape(-1, 6),
        "names": _packed([unit.name for unit in units]),
        "lengths": lengths,
        **_arrays("words", words),
        **_arrays("definitions", occurring(symbols.definitions)),
        **_arrays("references", occurring(symbols.references)),
    }


def occurrences(record: Record, name: str) -> Occurrences:
    """A record's `words`, `definitions` or `references`."""
    return Occurrences(json.loads(record[f"{name}_terms"].tobytes()), record[name])


def names_of(record: Record) -> list[str]:
    """The names of a record's units."""
    found: list[str] = json.loads(record["names"].tobytes())
    return found


def analysis_of(record: Record) -> FileAnalysis:
    """The analysis that a record was made from."""
    found = (occurrences(record, name) for name in ("definitions", "references"))
    pairs = (tuple((one.terms[term], unit) for term, unit, _ in one.rows.tolist()) for one in found)
    return FileAnalysis(units_of(record["units"], names_of(record)), FileSymbols(*pairs))


def units_of(rows: NDArray[Any], names: Iterable[str]) -> tuple[Unit, ...]:
    """Units from their numbers and names."""
    return tuple(
        Unit(KINDS[kind], name, start, end, first, last, None if parent == _NO_PARENT else parent)
        for name, (kind, start, end, first, last, parent) in zip(names, rows.tolist(), strict=True)
    )


def units_key(key: str, rows: NDArray[Any]) -> str:
    """Key of records made of a file's units: of content and of unit borders, which depend on the parser."""
    borders = rows[:, _END_BYTE].astype(np.int64)
    return hashlib.blake2b(key.encode() + borders.tobytes(), digest_size=20).hexdigest()


def unit_bytes(rows: NDArray[Any]) -> NDArray[np.int64]:
    """The sizes of units, int64 [U]."""
    return np.asarray(rows[:, _END_BYTE] - rows[:, _END_BYTE - 1], np.int64)


def _numbers(unit: Unit) -> Sequence[int]:
    parent = _NO_PARENT if unit.parent is None else unit.parent
    return KINDS.index(unit.kind), unit.start_byte, unit.end_byte, unit.start_line, unit.end_line, parent


def _arrays(name: str, found: Occurrences) -> dict[str, NDArray[Any]]:
    return {name: found.rows, f"{name}_terms": _packed(list(found.terms))}


def _packed(value: object) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)
