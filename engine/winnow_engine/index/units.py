"""Units: whole lines, in order, that together hold every byte of a file exactly once."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from winnow_engine.core import FUNCTIONS, Unit, UnitKind
from winnow_engine.index.lines import Lines
from winnow_engine.index.outline import ParsedFile

_NO_STATEMENT = 1000  # sorts after every depth of statements
_BLANK = re.compile(rb"\s*")


def blank(parsed: ParsedFile, line: int) -> bool:
    """True for a line of white space only."""
    start, end = parsed.lines.span(line, line)
    return _BLANK.fullmatch(parsed.text, start, end) is not None


def pieces(parsed: ParsedFile, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Split lines into pieces of `parsed.piece_bytes` at outermost statements, else after blank lines, or anywhere."""
    if parsed.lines.size(first, last) > parsed.piece_bytes:
        ranks = {line: 2 * depth for line, depth in statement_lines(parsed, first, last).items()}
        while parsed.lines.size(first, last) > parsed.piece_bytes and first < last:
            cut = _best_cut(parsed, ranks, first, last)
            yield first, cut - 1
            first = cut
    yield first, last


def _best_cut(parsed: ParsedFile, ranks: dict[int, int], first: int, last: int) -> int:
    """The best line in (first, last] to start the next piece with: low rank, then as far as possible."""
    starts, base = parsed.lines.starts, parsed.lines.starts[first - 1]
    nearest = max(first + 1, bisect_right(starts, base + parsed.piece_bytes // 4))
    farthest = min(last, max(first + 1, bisect_right(starts, base + parsed.piece_bytes)))
    candidates = range(min(nearest, farthest), farthest + 1)
    return min(candidates, key=lambda line: (_rank(parsed, ranks, line), -line))


def _rank(parsed: ParsedFile, ranks: dict[int, int], line: int) -> int:
    after_blank = blank(parsed, line - 1) and not blank(parsed, line)
    return ranks.get(line, _NO_STATEMENT) - after_blank


def statement_lines(parsed: ParsedFile, first: int, last: int) -> dict[int, int]:
    """The lines in [first, last] that begin with a statement or its comment, each with its depth among these."""
    if parsed.syntax is None:
        return {}
    start, end = parsed.lines.span(first, last)
    spans = parsed.syntax.statements
    spans = spans[bisect_left(spans, (start,)) : bisect_left(spans, (end,))]
    depths: dict[int, int] = {}
    ends: list[int] = []  # of the statements around this one
    for node_start, negative_end in spans:
        while ends and node_start >= ends[-1]:
            ends.pop()
        line = parsed.lines.line_of(node_start)
        if _BLANK.fullmatch(parsed.text, parsed.lines.starts[line - 1], node_start):
            depths.setdefault(line, len(ends))
        ends.append(-negative_end)
    return {line: depth for line, depth in depths.items() if line - 1 not in parsed.outline.leading}


# Lines that only close what came before belong to it.
_CLOSING = re.compile(rb"\s*(?:$|[)\]}]|end\b|#\s*endif\b)")

# So little code between two methods (an access specifier, a field) is not worth a unit.
_SMALL_GAP_BYTES = 80


@dataclass(frozen=True)
class _LineRun:
    """Lines that make one unit, or several if long. `owner` indexes the definition they belong to."""

    kind: UnitKind
    first: int
    last: int
    owner: int | None


def tile(parsed: ParsedFile, lines: Lines) -> tuple[Unit, ...]:
    """Units of a parsed file with this original line table: functions whole, the rest in pieces of some 2,000 bytes."""
    definitions = parsed.outline.definitions
    units: list[Unit] = []
    unit_of: dict[int | None, int] = {}  # the first unit of each definition
    for run in _runs(parsed):
        owner = None if run.owner is None else definitions[run.owner]
        heads = owner is not None and run.kind is owner.kind
        parent = unit_of.get(owner.parent if owner and heads else run.owner)
        name = owner.name if owner and heads else ""
        whole = run.kind in FUNCTIONS
        for first, last in [(run.first, run.last)] if whole else pieces(parsed, run.first, run.last):
            units.append(Unit(run.kind, name, *lines.span(first, last), first, last, parent))
            if heads and run.owner not in unit_of:
                unit_of[run.owner] = len(units) - 1
                parent = len(units) - 1  # the rest of a long header stands under its beginning
    return tuple(units)


def cut_points(parsed: ParsedFile, unit: Unit, deepest: int = 2) -> tuple[int, ...]:
    """Lines of a unit at which it may be cut, its first one included: statements of these levels, else blank lines."""
    first, last = unit.start_line, unit.end_line
    found = [line for line, depth in statement_lines(parsed, first, last).items() if depth <= deepest]
    body = range(first + 1, last + 1)
    found = found or [line for line in body if blank(parsed, line - 1) and not blank(parsed, line)]
    return tuple(sorted({first, *(found or body)}))


def enclosing(units: Sequence[Unit], line: int) -> int:
    """Index of the unit that holds a 1-based line; the last unit for a line past the end. `units` must not be empty."""
    return min(bisect_left(units, line, key=lambda unit: unit.end_line), len(units) - 1)


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
