"""A file's analysis as arrays for the store, and back."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Unit, UnitKind
from winnow_engine.index.symbols import FileAnalysis, FileSymbols
from winnow_engine.store import Record

_KINDS = tuple(UnitKind)
_NO_PARENT = -1


def record_of(analysis: FileAnalysis) -> Record:
    """Units as int64 [U, 6]; names and symbols as JSON bytes."""
    rows = [
        (
            _KINDS.index(u.kind),
            u.start_byte,
            u.end_byte,
            u.start_line,
            u.end_line,
            _NO_PARENT if u.parent is None else u.parent,
        )
        for u in analysis.units
    ]
    symbols = analysis.symbols
    return {
        "units": np.array(rows, np.int64).reshape(-1, 6),
        "names": _packed([unit.name for unit in analysis.units]),
        "definitions": _packed(symbols.definitions),
        "references": _packed(symbols.references),
    }


def analysis_of(record: Record) -> FileAnalysis:
    """The inverse of `record_of`."""
    names: list[str] = json.loads(record["names"].tobytes())
    rows = record["units"].tolist()
    units = tuple(
        Unit(_KINDS[kind], name, start, end, first, last, None if parent == _NO_PARENT else parent)
        for name, (kind, start, end, first, last, parent) in zip(names, rows, strict=True)
    )
    definitions, references = (
        tuple((name, unit) for name, unit in json.loads(record[field].tobytes()))
        for field in ("definitions", "references")
    )
    return FileAnalysis(units, FileSymbols(definitions, references))


def _packed(value: object) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)
