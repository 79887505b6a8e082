"""Fills a budget of tokens with whole units, in order of score.

The selected code comes first, then its class header and imports, then the rest. A unit that does not fit into the
tokens left is skipped. One that the whole budget could not hold is cut at a statement border.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow_engine.errors import BudgetError

# A unit that the budget could not hold whole gets at most this share of the budget, unless its named lines need more.
_CUT_SHARE = 0.4
_LEAST_CUT_TOKENS = 64
_SMALL_TOKENS = 32
_EXPONENT = 0.8
# How many units that do not fit may be passed over in search of one that does.
_MISS_LIMIT = 50


@dataclass(frozen=True, slots=True)
class KeptUnit:
    """A unit, by number, or the part of it between two lines (1-based, inclusive) that is kept."""

    unit: int
    start_line: int
    end_line: int
    tokens: int


class UnitSource(Protocol):
    """The units to choose from, with their tokens and the places where they may be cut."""

    tokens: NDArray[np.int32]  # [U]

    def whole(self, unit: int) -> KeptUnit:
        """All of a unit."""

    def cut(self, unit: int, tokens: int, must: tuple[int, int] | None) -> KeptUnit | None:
        """The longest run of statements, of at most `tokens` tokens, that has lines `must` (default: the line of
        its scope, of what is quoted or named, or its first); None if there is none."""


@dataclass(frozen=True, slots=True)
class Focus:
    """The units under the cursor or selection, the lines that must stay, and `companions` that explain them."""

    units: tuple[int, ...]
    lines: tuple[int, int]
    companions: tuple[int, ...]


def choose(
    source: UnitSource,
    scores: NDArray[np.float32],
    budget: int,
    focus: Focus | None = None,
    named: Mapping[int, Sequence[int]] = {},
) -> list[KeptUnit]:
    """The units to keep, whole or cut, ordered by number. `scores` are float32 [U]. Keeps everything if it fits.

    Lines that are `named` of a unit stay where it is cut, the first ones if there is no room for all.

    A unit of score -inf is kept only then, or as the focus. BudgetError if the selected lines do not fit by themselves.
    """
    if int(source.tokens.sum()) <= budget:
        return [source.whole(unit) for unit in range(len(scores)) if source.tokens[unit]]
    basket = _Basket(source, budget, named)
    if focus is not None:
        basket.add_focus(focus)
    scored = np.flatnonzero(scores > -np.inf)
    basket.add_ranked(scored[np.argsort(-scores[scored], kind="stable")].tolist())
    return sorted(basket.kept.values(), key=lambda kept: kept.unit)


def density(log_odds: NDArray[np.float32], tokens: NDArray[np.int32], exponent: float = 1.0) -> NDArray[np.float32]:
    """The logarithm of each unit's chance per token, up to a constant, float32 [U].

    In this order a budget holds the most chance (Dantzig 1957, for the knapsack problem). Units of fewer than 32 tokens
    count as 32. An `exponent` below 1 makes length count less.
    """
    return np.asarray(log_odds - np.float32(exponent) * np.log(np.maximum(tokens, _SMALL_TOKENS)), np.float32)


def worth(log_odds: NDArray[np.float32], tokens: NDArray[np.int32], subquestions: int) -> NDArray[np.float32]:
    """The order in which units are kept for a question with so many sub-questions, float32 [U]: their density.

    Dantzig's rule fits a list of questions, whose answers are apart. The places that answer one question are needed
    together, so length counts for 0.8 of its logarithm (docs/lab/scoring.md).
    """
    return density(log_odds, tokens, 1.0 if subquestions else _EXPONENT)


class _Basket:
    """The units kept so far, and the tokens left."""

    def __init__(self, source: UnitSource, budget: int, named: Mapping[int, Sequence[int]]) -> None:
        self.kept: dict[int, KeptUnit] = {}
        self._source, self._budget, self._left, self._named = source, budget, budget, named

    def add_focus(self, focus: Focus) -> None:
        fits = sum(int(self._source.tokens[unit]) for unit in focus.units) <= self._left
        for unit in focus.units:
            if not fits or not self._add_whole(unit):
                self._add_selected(unit, focus.lines)
        for unit in focus.companions:
            self._add_whole(unit)

    def add_ranked(self, ranking: Sequence[int]) -> None:
        misses = 0
        for unit in (one for one in ranking if self._source.tokens[one] and one not in self.kept):
            if misses > _MISS_LIMIT:
                return
            oversized = unit in self._named or self._source.tokens[unit] > self._budget
            kept = self._add_whole(unit) or (oversized and self._left >= _LEAST_CUT_TOKENS and self._add_cut(unit))
            misses = 0 if kept else misses + 1

    def _add_whole(self, unit: int) -> bool:
        if unit in self.kept:
            return True
        if self._source.tokens[unit] > self._left:
            return False
        self._take(self._source.whole(unit))
        return True

    def _add_cut(self, unit: int) -> bool:
        room = min(self._left, int(_CUT_SHARE * self._budget))
        lines = self._named_lines(unit)
        piece = self._source.cut(unit, room, lines) if room >= _LEAST_CUT_TOKENS else None
        if piece is None and lines:
            piece = self._source.cut(unit, self._left, lines)
        if piece is not None:
            self._take(piece)
        return piece is not None

    def _named_lines(self, unit: int) -> tuple[int, int] | None:
        """The first and the last of the lines named of a unit, of as many as the tokens left can hold."""
        named = self._named.get(unit, ())
        ranges = [*zip(accumulate(named, min), accumulate(named, max), strict=True)]
        fit = bisect(ranges, False, key=lambda lines: self._source.cut(unit, self._left, lines) is None)
        return ranges[fit - 1] if fit else None

    def _add_selected(self, unit: int, lines: tuple[int, int]) -> None:
        piece = self._source.cut(unit, self._left, lines)
        if piece is None:
            raise BudgetError(
                f"the selection (lines {lines[0]}-{lines[1]}) does not fit the budget of {self._budget:,} tokens: "
                "select less, or raise the budget"
            )
        self._take(piece)

    def _take(self, piece: KeptUnit) -> None:
        self.kept[piece.unit] = piece
        self._left -= piece.tokens
