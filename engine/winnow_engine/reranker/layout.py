"""Segments of units for the reranker, each of which begins with the prefix and the question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from winnow_cuda.shapes import Int32, Int64

MOST_UNIT_TOKENS = 1024
"""The most of a unit that is read; one in a hundred is longer."""


@dataclass(frozen=True, slots=True)
class UnitText:
    """A unit's tokens, with the number and the header (marker, path, end of line) of its file."""

    file: int
    header: Int32
    ids: Int32


@dataclass(frozen=True, slots=True)
class RerankerSegment:
    """Tokens as they are read. Unit units[i], counted in the order given, has the rows starts[i]:stops[i]."""

    ids: Int32
    units: Int64
    starts: Int64
    stops: Int64

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(slots=True)
class _Open:
    """A segment that takes more units."""

    ids: list[Int32]
    tokens: int
    units: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    file: int = -1

    def add(self, number: int, unit: UnitText, closing: Int32, most: int) -> bool:
        """Show one more unit; False if there is no room for it."""
        header = unit.header if unit.file != self.file else unit.header[:0]
        needed = len(header) + len(unit.ids) + len(closing)
        if self.tokens + needed > most:
            return False
        self.units.append(number)
        self.starts.append(self.tokens + len(header))
        self.ids += [header, unit.ids, closing]
        self.tokens, self.file = self.tokens + needed, unit.file
        self.stops.append(self.tokens)
        return True

    def closed(self) -> RerankerSegment:
        """The segment with all units that it has taken."""
        numbers = (np.array(part, np.int64) for part in (self.units, self.starts, self.stops))
        return RerankerSegment(np.concatenate(self.ids).astype(np.int32), *numbers)


def segments_of(
    prefix: Int32, question: Int32, units: Sequence[UnitText], closing: Int32, most: int
) -> Iterator[RerankerSegment]:
    """Units in the order given, in segments of `most` tokens, each file's header before its first unit there.

    `closing` ends each unit. Long units are cut; a question takes at most half.
    """
    opening = np.concatenate([prefix, question[: most // 2 - len(prefix)]])
    room = min(MOST_UNIT_TOKENS, most // 4)
    current: _Open | None = None
    for number, unit in enumerate(units):
        shown = UnitText(unit.file, unit.header[: most // 8], unit.ids[:room])
        if current is None or not current.add(number, shown, closing, most):
            if current is not None:
                yield current.closed()
            current = _Open([opening], len(opening))
            assert current.add(number, shown, closing, most)
    if current is not None:
        yield current.closed()
