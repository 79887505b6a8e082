"""Shares of right answers, or of what was kept, with 95% intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from winnow_research.evaluation.figures import Estimate, wilson


@dataclass(frozen=True, slots=True)
class Result:
    """How one method did on one question of a test. `score`, 0 to 1, is the share of what was wanted that it gave."""

    test: str
    method: str
    tokens: int
    score: float


@dataclass(frozen=True, slots=True)
class Score:
    """The mean score of a method on the questions of a test over workspaces of `tokens` tokens."""

    test: str
    method: str
    tokens: int
    cases: int
    estimate: Estimate

    def as_json(self) -> dict[str, Any]:
        """As JSON: the score as [value, low, high], rounded to 4 digits. The key `row` has the method."""
        estimate = [round(number, 4) for number in (self.estimate.value, self.estimate.low, self.estimate.high)]
        return {"test": self.test, "row": self.method, "tokens": self.tokens, "cases": self.cases, "score": estimate}


def scores(results: Iterable[Result]) -> list[Score]:
    """A score for each test, method and size, in the order in which results come in.

    The interval is Wilson's. It is never too narrow for a mean of shares: of all scores in [0, 1] with a given mean,
    those that are all 0 or 1 spread most.
    """
    found = list(results)
    order = list(dict.fromkeys((one.test, one.method, one.tokens) for one in found))

    def place(one: Result) -> int:
        return order.index((one.test, one.method, one.tokens))

    groups = [[one.score for one in some] for _, some in groupby(sorted(found, key=place), key=place)]
    return [Score(*key, len(some), wilson(sum(some), len(some))) for key, some in zip(order, groups, strict=True)]
