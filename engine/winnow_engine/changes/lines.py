"""Differing lines of two texts. Line ends do not count: a file that went from LF to CRLF has no changed line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from winnow_engine.index.lines import with_lf

_MOST_PAIRS = 30_000_000  # of lines to compare; beyond it, all between the first and the last difference are changed


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines, 1-based, that other lines took the place of. One of the ranges may be empty: it tells where."""

    before: range
    after: range


def line_texts(data: bytes | None) -> list[bytes]:
    """The lines of a file without their ends; none if there is no file."""
    if not data:
        return []
    lines = with_lf(data).split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def hunks(before: Sequence[bytes], after: Sequence[bytes]) -> tuple[Hunk, ...]:
    """The differences between two texts, given as lines, in order."""
    return tuple(
        Hunk(range(b, b_end), range(a, a_end)) for same, b, b_end, a, a_end in _runs(before, after) if not same
    )


def unchanged(before: Sequence[bytes], after: Sequence[bytes]) -> dict[int, int]:
    """The lines, 1-based, that both texts have, each with its number in the second."""
    same = (run for run in _runs(before, after) if run[0])
    return {line: a + line - b for _, b, b_end, a, _ in same for line in range(b, b_end)}


def similarity(before: bytes, after: bytes) -> float:
    """The share of lines that two files have in common, wherever they stand; from 0 to 1."""
    ours, theirs = Counter(line_texts(before)), Counter(line_texts(after))
    return (ours & theirs).total() / max(ours.total(), theirs.total(), 1)


def _runs(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[tuple[bool, int, int, int, int]]:
    """(same, first line, line after the last, the same two of the second text): runs that cover both texts."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    if head:
        yield True, 1, head + 1, 1, head + 1
    ours, theirs = before[head : len(before) - tail], after[head : len(after) - tail]
    for same, b, b_end, a, a_end in _between(ours, theirs):
        yield same, b + head + 1, b_end + head + 1, a + head + 1, a_end + head + 1
    if tail:
        yield True, len(before) - tail + 1, len(before) + 1, len(after) - tail + 1, len(after) + 1


def _between(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[tuple[bool, int, int, int, int]]:
    if not before and not after:
        return
    if not before or not after or len(before) * len(after) > _MOST_PAIRS:
        yield False, 0, len(before), 0, len(after)
        return
    for tag, b, b_end, a, a_end in SequenceMatcher(None, before, after).get_opcodes():
        yield tag == "equal", b, b_end, a, a_end


def _common(before: Sequence[bytes], after: Sequence[bytes]) -> int:
    """Number of lines that both begin with."""
    shorter = min(len(before), len(after))
    return next((n for n in range(shorter) if before[n] != after[n]), shorter)
