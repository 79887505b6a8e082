"""Chooses what a reranker is shown of each question in training: its golds among units that mislead the first stage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from winnow_cuda.shapes import Float32, Int32, Int64
from winnow_engine.reranker.layout import MOST_UNIT_TOKENS, RerankerSegment, UnitText, segments_of
from winnow_research.training.dataset import Dataset
from winnow_research.training.reranker.lists import Lists, text_of

_NEAR_TOKENS = 8_000  # of leading units that are drawn most often
_SIBLING, _USED, _FAR, _ANYWHERE = 0.6, 1.0, 0.08, 0.03  # how often units are drawn, a leader once
_ADDED = 24  # at most, of what stands beside a gold or is used by it


@dataclass(frozen=True)
class RerankerExample:
    """A question as it is read in training. Its units are numbered in the order in which they are shown."""

    segments: tuple[RerankerSegment, ...]
    golds: Int64  # the units that answer
    first: Float32  # [units, 2]: the first stage's scores, 0 for those that its list lacks


class Chooser:
    """Makes examples: equal data, lists, rows and seeds give equal ones."""

    def __init__(self, data: Dataset, lists: Lists, segments: int, segment_tokens: int) -> None:
        self._data, self._lists = data, lists
        self._segments, self._segment_tokens = segments, segment_tokens
        self._uses = _uses(data)

    def example(self, row: int, seed: Sequence[int]) -> RerankerExample:
        """The question of a list's row: at most so many segments of its golds and of what misleads."""
        rng = np.random.default_rng([*seed, row])
        data, question = self._data, int(self._lists.questions[row])
        golds = data.golds[question]
        units = np.concatenate([rng.permutation(golds), self._drawn(row, rng)])
        known = dict(zip(self._lists.units[row].tolist(), self._lists.first(row), strict=True))
        bare = bool(self._lists.bare[self._project(int(golds[0]))])
        texts = {unit: text_of(data, unit, bare) for unit in units.tolist()}
        asked = data.prefix, data.questions[question]
        laid, shown = fitting(units, texts, *asked, self._segments, self._segment_tokens)
        nothing = np.zeros(2, np.float32)
        first = np.stack([known.get(unit, nothing) for unit in shown.tolist()]).astype(np.float32)
        return RerankerExample(laid, np.flatnonzero(np.isin(shown, golds)).astype(np.int64), first)

    def _drawn(self, row: int, rng: Generator) -> Int64:
        """Units that do not answer, in random order, those that mislead most often first."""
        listed, golds = self._lists.units[row], self._data.golds[int(self._lists.questions[row])]
        others = listed[len(golds) :]
        leading = int(self._lists.leading[row]) - len(golds)
        sizes = np.diff(self._data.units.offsets)[others]
        often = np.full(len(others), _ANYWHERE)
        often[:leading] = np.where(np.cumsum(sizes[:leading]) <= _NEAR_TOKENS, 1.0, _FAR)
        raised = dict(zip(others.tolist(), often.tolist(), strict=True))
        for unit, share in self._near(golds):
            if unit in raised:
                raised[unit] = max(raised[unit], share)
        rates = np.array([raised[unit] for unit in others.tolist()])
        return others[np.argsort(np.log(rates) + rng.gumbel(size=len(others)))[::-1]]

    def _near(self, golds: Int64) -> list[tuple[int, float]]:
        """Units beside a gold in its file, and those that it uses, with how often they are drawn."""
        found: list[tuple[int, float]] = []
        for gold in golds.tolist():
            file = self._data.file_of(gold)
            first, last = (int(unit) for unit in self._data.file_units[file : file + 2])
            beside = range(max(first, gold - _ADDED // 2), min(last, gold + _ADDED // 2))
            found += [(unit, _SIBLING) for unit in beside]
            found += [(unit, _USED) for unit in self._uses.get(gold, ())[:_ADDED]]
        return found

    def _project(self, unit: int) -> int:
        return int(self._data.project_of[self._data.file_of(unit)])


def fitting(
    order: Int64, texts: Mapping[int, UnitText], prefix: Int32, question: Int32, segments: int, segment_tokens: int
) -> tuple[tuple[RerankerSegment, ...], Int64]:
    """As many units, in this order, as at most so many segments show, or one; the units shown, in ascending order."""
    opening = len(prefix) + len(question)
    room = segments * (segment_tokens - min(opening, segment_tokens // 2))
    sizes = np.array([min(len(texts[unit].ids), MOST_UNIT_TOKENS) for unit in order.tolist()])
    count = max(int(np.searchsorted(np.cumsum(sizes + 4), room, "right")), 1)
    while True:
        shown = np.sort(order[:count])
        units = [texts[unit] for unit in shown.tolist()]
        closing = units[0].header[:1] if units else prefix[:0]
        laid = tuple(segments_of(prefix, question, units, closing, segment_tokens))
        if len(laid) <= segments or count == 1:
            return laid, shown
        count = max(count - max(count // 16, 1), 1)


def _uses(data: Dataset) -> dict[int, list[int]]:
    """What units use: the golds of the questions that are asked from there about what the code uses."""
    used: dict[int, list[int]] = defaultdict(list)
    cursor = [number for number, name in enumerate(data.kinds) if name == "cursor"]
    for question in np.flatnonzero(np.isin(data.kind_of, cursor)).tolist():
        used[int(data.asked_at[question])] += data.golds[question].tolist()
    return used
