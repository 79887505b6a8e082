"""Definitions and uses of names by a file's units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from winnow_engine.core import Unit
from winnow_engine.index.lines import Lines
from winnow_engine.index.outline import ParsedFile, parse, plain
from winnow_engine.index.syntax import GrammarError
from winnow_engine.index.units import tile

# Shorter names (`i`, `x`, `fn`) do not identify a definition.
_MIN_REFERENCE = 3
_QUALIFIERS = re.compile(r"\A.*(?:\.|::)(?=\w)", re.DOTALL)  # anchored: a search takes quadratic time in long names


@dataclass(frozen=True, slots=True)
class FileSymbols:
    """Pairs of a simple name and its unit's index, in order: names defined, and others of 3 characters or more."""

    definitions: tuple[tuple[str, int], ...] = ()
    references: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class FileAnalysis:
    """Units and symbols of one file."""

    units: tuple[Unit, ...]
    symbols: FileSymbols


def analyse(path: str, data: bytes) -> FileAnalysis:
    """Cut a file into units and list its symbols. Takes any bytes and never raises.

    Text in no known language, over 4 MB or too slow to parse is cut at blank lines and has no symbols.
    """
    try:
        parsed = parse(path, data)
        units = tile(parsed, Lines(data))
        return FileAnalysis(units, _symbols(parsed, units))
    except GrammarError:
        return plain_analysis(data)


def plain_analysis(data: bytes) -> FileAnalysis:
    """As `analyse`, of text in no known language."""
    return FileAnalysis(tile(plain(data), Lines(data)), FileSymbols())


def _symbols(parsed: ParsedFile, units: Sequence[Unit]) -> FileSymbols:
    if parsed.syntax is None:
        return FileSymbols()
    unit_at = [index for index, unit in enumerate(units) for _ in range(unit.start_line, unit.end_line + 1)]
    defined = {(name, unit_at[line - 1]) for name, line in parsed.outline.symbols}
    used = set(_references(parsed, unit_at)) - defined
    return FileSymbols(*(tuple(sorted(pairs, key=lambda pair: (pair[1], pair[0]))) for pairs in (defined, used)))


def _references(parsed: ParsedFile, unit_at: list[int]) -> Iterator[tuple[str, int]]:
    assert parsed.syntax is not None
    language = parsed.syntax.language
    for node in parsed.syntax.references():
        start, end = node.start_byte, node.end_byte
        if end - start >= _MIN_REFERENCE:
            name = parsed.text[start:end].decode("utf-8", "replace")
            if language.packed:
                name = name.strip(".") or name if language.dotted else _QUALIFIERS.sub("", name)
            yield name, unit_at[node.start_point.row]
