"""Splitting of long runs of lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from winnow_engine.index.parsed import ParsedFile

_NO_STATEMENT = 1000  # sorts after every depth of statements
_BLANK = re.compile(rb"\s*")


def blank(parsed: ParsedFile, line: int) -> bool:
    """True for a line of white space only."""
    start, end = parsed.lines.span(line, line)
    return _BLANK.fullmatch(parsed.text, start, end) is not None


def pieces(parsed: ParsedFile, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Split lines `first` to `last` into pieces of at most `parsed.piece_bytes`. A longer line stays whole.

    A piece starts at the outermost statement within reach, failing that after a blank line, failing that anywhere.
    """
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
    """The lines in [first, last] that begin with a statement or its comment, each with the statement's depth.

    Depth 0 is a statement that no other statement within these lines contains.
    """
    if parsed.syntax is None:
        return {}
    start, end = parsed.lines.span(first, last)
    nodes = parsed.syntax.statements(start, end)
    spans = sorted((node.start_byte, -node.end_byte) for node in nodes if node.start_byte >= start)
    depths: dict[int, int] = {}
    ends: list[int] = []  # of the statements around this one
    for node_start, negative_end in spans:
        while ends and node_start >= ends[-1]:
            ends.pop()
        line = parsed.lines.line_of(node_start)
        if line <= last and _begins_line(parsed, line, node_start):
            depths.setdefault(line, len(ends))
        ends.append(-negative_end)
    return {line: depth for line, depth in depths.items() if line - 1 not in parsed.outline.leading}


def _begins_line(parsed: ParsedFile, line: int, byte: int) -> bool:
    return _BLANK.fullmatch(parsed.text, parsed.lines.starts[line - 1], byte) is not None
