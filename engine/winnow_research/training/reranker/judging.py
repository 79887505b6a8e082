"""Judges a reranker by what the product keeps with its scores, and how much of them to add."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import methodcaller
from typing import Any, TypeVar

import numpy as np

from winnow_cuda.shapes import Float32, Int32, Int64
from winnow_engine.reranker.layout import UnitText
from winnow_engine.reranker.reranking import addition
from winnow_engine.selection.budget import Focus, KeptUnit, choose, worth
from winnow_engine.selection.fusion import gained
from winnow_research.evaluation.figures import BUDGETS

WAYS = (16_000, 32_000)
"""How many tokens are read."""
T = TypeVar("T")

_WEIGHTS = (0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
_JUDGED = (2, 3, 4)  # of BUDGETS: 2,000, 4,000 and 8,000 tokens
_TWICE = ("real", "bug")
_FEWEST, _MOST = 256, 32_768  # tokens between which what a question needs is told apart


@dataclass
class CountedUnits:
    """Units by their tokens, int32 [U], without a text, which may be cut anywhere."""

    tokens: Int32

    def whole(self, unit: int) -> KeptUnit:
        """All of a unit."""
        return KeptUnit(unit, 1, 1, int(self.tokens[unit]))

    def cut(self, unit: int, tokens: int, _must: tuple[int, int] | None) -> KeptUnit | None:
        """The first tokens of a unit."""
        return KeptUnit(unit, 1, 1, min(tokens, int(self.tokens[unit])))


@dataclass
class Record:
    """What is known of a question: of its K best units and those to be read, in ascending order of their numbers.

    `questions` are what a reranker is asked, in tokens: the question, or of a list each of its parts. `golds`, `focus`
    and `companions` are places among the units; a gold that is not among them is -1. `log_shares` are those of
    `FusedScores`, float32 [1 + P, K]. `ways` has by way the places that are read for each of `questions`, `texts` the
    tokens of all that are. `said` has by way what a reranker said of them.
    """

    task: str
    repository: str
    subquestions: int
    questions: tuple[Int32, ...]
    total: Float32
    log_shares: Float32 | None
    tokens: Int32
    golds: Int64
    focus: tuple[int, ...]
    companions: tuple[int, ...]
    ways: dict[int, list[Int64]]
    texts: dict[int, UnitText]
    said: dict[int, list[Float32]] = field(default_factory=dict)

    def kept(self, total: Float32) -> list[bool]:
        """For each of BUDGETS, whether all golds are kept whole if these are the scores of the units."""
        focus = Focus(self.focus, (1, 1), self.companions) if self.focus else None
        source, by = CountedUnits(self.tokens), worth(total, self.tokens, self.subquestions)
        kept = [choose(source, by, budget, focus) for budget in BUDGETS]
        golds = set(self.golds.tolist())
        return [golds <= {one.unit for one in pieces if one.tokens == self.tokens[one.unit]} for pieces in kept]

    def needs(self, total: Float32) -> float:
        """Logarithm, base 2, of the tokens of the best units that have all golds whole, from 8 to 15."""
        by = worth(total, self.tokens, self.subquestions)
        by[[*self.focus, *self.companions]] = np.inf
        best = np.argsort(-by, kind="stable")
        (at,) = np.nonzero(np.isin(best, self.golds))
        if len(at) < len(self.golds):
            return math.log2(_MOST)
        return math.log2(min(max(int(self.tokens[best[: at[-1] + 1]].sum()), _FEWEST), _MOST))

    def with_said(self, way: int, weight: float) -> Float32:
        """The scores with what the reranker said of what it read in a way."""
        read = zip(self.said[way], self.ways[way], strict=True)
        added = [addition(weight, said, places, len(self.total)) for said, places in read]
        more = added[0] if self.log_shares is None else gained(self.log_shares, np.stack(added))
        return np.asarray(self.total + more, np.float32)


def shares(records: Sequence[Record], totals: Sequence[Float32]) -> dict[str, list[float]]:
    """By task, % of questions with all golds kept within each of BUDGETS, then their number."""
    kept = _by_task(Record.kept, records, totals)
    return {task: [*(100 * np.mean(hits, 0)).round(1).tolist(), len(hits)] for task, hits in kept.items()}


def gain(before: Mapping[str, list[float]], after: Mapping[str, list[float]]) -> list[float]:
    """By budget from 2,000 tokens on, how much the sum over tasks rises, *real* and *bug* twice, in points."""
    return [round(_summed({task: after[task][at] - before[task][at] for task in before}), 1) for at in _JUDGED]


def needed(records: Sequence[Record], totals: Sequence[Float32]) -> dict[str, float]:
    """By task, the mean of what its questions need (`Record.needs`)."""
    found = _by_task(Record.needs, records, totals)
    return {task: round(float(np.mean(each)), 3) for task, each in found.items()}


def compared(calibration: Sequence[Record], development: Sequence[Record]) -> list[dict[str, Any]]:
    """By way, the weight with which calibration needs fewest tokens, and what it does in both splits.

    Shares kept within a budget change with single questions, and would choose a weight by chance: the mean logarithm of
    the tokens needed, over the tasks, chooses it.
    """
    splits = {"calibration": calibration, "development": development}

    def judged(scores: Callable[[Record], Float32]) -> dict[str, Any]:
        totals = {name: [scores(one) for one in records] for name, records in splits.items()}
        kept = {name: shares(records, totals[name]) for name, records in splits.items()}
        return {**kept, "needed": {name: needed(records, totals[name]) for name, records in splits.items()}}

    def needs(way: int, weight: float) -> float:
        return _summed(needed(calibration, [one.with_said(way, weight) for one in calibration]))

    before = judged(lambda one: one.total)
    found: list[dict[str, Any]] = [{"tokens": 0, **before}]
    for way in WAYS:
        weight = min(_WEIGHTS, key=partial(needs, way))
        after = judged(methodcaller("with_said", way, weight))
        found.append({"tokens": way, "weight": weight, **after, "rule": _ruled(before, after)})
    return found


def _by_task(
    of: Callable[[Record, Float32], T], records: Sequence[Record], totals: Sequence[Float32]
) -> dict[str, list[T]]:
    """Something of each record with these scores, by its task."""
    found: dict[str, list[T]] = {}
    for record, total in zip(records, totals, strict=True):
        found.setdefault(record.task, []).append(of(record, total))
    return found


def _summed(by_task: Mapping[str, float]) -> float:
    """The sum over tasks, *real* and *bug* twice."""
    return sum((2 if task in _TWICE else 1) * value for task, value in by_task.items())


def _ruled(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What the rule looks at: gains of the sum, each task's largest loss in development, *real* in calibration."""
    old, new = before["development"], after["development"]
    sums = gain(old, new)
    lost = {task: min(new[task][at] - old[task][at] for at in _JUDGED) for task in old}
    real = [after["calibration"]["real"][at] - before["calibration"]["real"][at] for at in _JUDGED]
    passes = min(sums) > 0 and min(lost.values()) >= -1 and sum(real) > 0
    rounded = {task: round(value, 1) for task, value in lost.items()}
    return {"sum": sums, "least": rounded, "real, calibration": np.round(real, 1).tolist(), "passes": passes}
