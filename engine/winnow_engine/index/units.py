"""Units: whole lines, in order, that together hold every byte of a file exactly once."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from winnow_engine.core import Unit, UnitKind
from winnow_engine.index.line_splitting import blank, pieces, statement_lines
from winnow_engine.index.lines import Lines
from winnow_engine.index.parsed import ParsedFile, parse, plain
from winnow_engine.index.syntax import GrammarError

# Lines that only close what came before belong to it.
_CLOSING = re.compile(rb"\s*(?:$|[)\]}]|end\b|#\s*endif\b)")

# So little code between two methods (an access specifier, a field) is not worth a unit.
_SMALL_GAP_BYTES = 80

_WHOLE = (UnitKind.FUNCTION, UnitKind.METHOD)


@dataclass(frozen=True)
class _LineRun:
    """Lines that make one unit, or several if long. `owner` indexes the definition they belong to."""

    kind: UnitKind
    first: int
    last: int
    owner: int | None


def tile(parsed: ParsedFile, lines: Lines) -> tuple[Unit, ...]:
    """Units of a parsed file; `lines` is the line table of its original bytes. An empty file has none.

    Functions and methods stay whole whatever their size; all else is cut to pieces of about 2,000 bytes, data of 500.
    """
    definitions = parsed.outline.definitions
    units: list[Unit] = []
    unit_of: dict[int | None, int] = {}  # the first unit of each definition
    for run in _runs(parsed):
        owner = None if run.owner is None else definitions[run.owner]
        heads = owner is not None and run.kind is owner.kind
        parent = unit_of.get(owner.parent if owner and heads else run.owner)
        name = owner.name if owner and heads else ""
        for first, last in _pieces(parsed, run):
            units.append(Unit(run.kind, name, *lines.span(first, last), first, last, parent))
            if heads and run.owner not in unit_of:
                unit_of[run.owner] = len(units) - 1
                parent = len(units) - 1  # the rest of a long header stands under its beginning
    return tuple(units)


def cut_points(path: str, data: bytes, unit: Unit) -> tuple[int, ...]:
    """Lines of a unit at which it may be cut, `unit.start_line` first.

    These are the statements of the two outermost levels of a function's body, with the comments above them. Without a
    tree they are the lines after blank ones, or else all lines.
    """
    first, last = unit.start_line, unit.end_line
    try:
        parsed = parse(path, data)
        found = [line for line, depth in statement_lines(parsed, first, last).items() if depth <= 2]
    except GrammarError:
        parsed, found = plain(data), []
    body = range(first + 1, last + 1)
    found = found or [line for line in body if blank(parsed, line - 1) and not blank(parsed, line)]
    return tuple(sorted({first, *(found or body)}))


def enclosing(units: Sequence[Unit], line: int) -> int:
    """Index of the unit that holds a 1-based line; the last unit for a line past the end. `units` must not be empty."""
    return min(bisect_left(units, line, key=lambda unit: unit.end_line), len(units) - 1)


def _pieces(parsed: ParsedFile, run: _LineRun) -> Iterator[tuple[int, int]]:
    if run.kind in _WHOLE:
        return iter([(run.first, run.last)])
    return pieces(parsed, run.first, run.last)


def _runs(parsed: ParsedFile) -> list[_LineRun]:
    """Consecutive lines of the same definition, or of none. Blank and closing lines join the run before them."""
    runs: list[_LineRun] = []
    carried: int | None = None  # the first line of a small gap that joins the next run
    for owner, first, last in _owned(parsed):
        definition = None if owner is None else parsed.outline.definitions[owner]
        if definition and (first == definition.first or not definition.contains_units):
            runs.append(_LineRun(definition.kind, carried or first, last, owner))
            carried = None
            continue
        if runs:
            first = _join_closing(parsed, runs, first, last)
        elif last < parsed.lines.count and all(blank(parsed, line) for line in range(first, last + 1)):
            carried = first
            continue
        if first > last:
            continue
        if definition is None:
            runs.extend(_loose_runs(parsed, first, last))
        elif parsed.lines.size(first, last) > _SMALL_GAP_BYTES:
            runs.append(_LineRun(UnitKind.TOP_LEVEL, first, last, owner))
        elif last < definition.last:
            carried = first
        else:
            runs[-1] = replace(runs[-1], last=last)
    return runs


def _owned(parsed: ParsedFile) -> Iterator[tuple[int | None, int, int]]:
    """(definition, first line, last line) for each run of lines with the same innermost definition."""
    owners: list[int | None] = [None] * parsed.lines.count
    for index, definition in enumerate(parsed.outline.definitions):
        owners[definition.first - 1 : definition.last] = [index] * (definition.last - definition.first + 1)
    first = 1
    for owner, run in groupby(owners):
        last = first + len(tuple(run)) - 1
        yield owner, first, last
        first = last + 1


def _join_closing(parsed: ParsedFile, runs: list[_LineRun], first: int, last: int) -> int:
    """Give the last run the blank and closing lines from `first` on, and return the first line after them."""
    line = first
    while line <= last and _CLOSING.match(parsed.text, *parsed.lines.span(line, line)):
        line += 1
    runs[-1] = replace(runs[-1], last=line - 1)
    return line


def _loose_runs(parsed: ParsedFile, first: int, last: int) -> Iterator[_LineRun]:
    """The runs of lines outside all definitions: imports, and everything else."""
    if parsed.syntax is None:
        yield _LineRun(UnitKind.BLOCK, first, last, None)
        return
    kind: UnitKind | None = None
    ended = first  # the line after the last one that decided the kind
    for line in range(first, last + 1):
        importing = line in parsed.outline.imports
        if not importing and (line in parsed.outline.comments or blank(parsed, line)):
            continue
        found = UnitKind.IMPORTS if importing else UnitKind.TOP_LEVEL
        if kind not in (None, found):
            start = next(below for below in range(ended, line + 1) if not blank(parsed, below))
            yield _LineRun(kind, first, start - 1, None)
            first = start
        kind, ended = found, line + 1
    yield _LineRun(kind or UnitKind.TOP_LEVEL, first, last, None)
