"""Figures with 95% intervals, made from the outcomes of single cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

BUDGETS = (500, 1000, 2000, 4000, 8000)
_Z = 1.959964  # of 95%, two-sided
_RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one method did on one case. `kept`, `share`, `all_files` and `any_file` have a value for each of BUDGETS.

    `kept`: whether every line of every gold is kept. `share`: the share of golds of which every line is kept.
    `all_files`, `any_file`: whether something of each gold's file, or of any gold's file, is kept.
    `reciprocal_rank`: 1 / the rank of the best unit that holds a gold; None if the case has no gold. `top`: the highest
    score, which says how sure the method is that anything answers. `ndcg`: within the first ten units, and files.
    `dump`: the case with its leading units as JSON, if that is wanted.
    """

    method: str
    task: str
    tokens: int
    repository: str
    language: str
    kept: tuple[bool, ...]
    share: tuple[float, ...]
    all_files: tuple[bool, ...]
    any_file: tuple[bool, ...]
    reciprocal_rank: float | None
    top: float
    ndcg: tuple[float, float] = (0.0, 0.0)
    dump: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RelevanceFigure:
    """A method's figures over a group of cases, `all` or those of a language. Tuples have a value for each of BUDGETS.

    `first` is the share of cases whose first unit holds a gold, `ndcg` that of units and of files (`order.py`).
    `auroc` says how well the highest score tells cases with an answer from cases without; None if all are of one kind.
    """

    method: str
    task: str
    tokens: int
    group: str
    cases: int
    kept: tuple[Estimate, ...]
    share: tuple[Estimate, ...]
    all_files: tuple[Estimate, ...]
    any_file: tuple[Estimate, ...]
    mrr: Estimate
    first: Estimate
    ndcg: tuple[Estimate, ...]
    auroc: float | None


def figures(outcomes: Iterable[Outcome]) -> list[RelevanceFigure]:
    """A figure for each method, task and size, over all its cases and by language.

    Methods keep the order in which they first occur.
    """
    outcomes = list(outcomes)
    methods = list(dict.fromkeys(outcome.method for outcome in outcomes))
    grouped = [*_grouped(outcomes, lambda outcome: "all"), *_grouped(outcomes, lambda outcome: outcome.language)]

    def place(found: RelevanceFigure) -> tuple[str, int, bool, str, int]:
        return found.task, found.tokens, found.group != "all", found.group, methods.index(found.method)

    return sorted(grouped, key=place)


def wilson(hits: float, cases: int) -> Estimate:
    """A share with Wilson's score interval (Wilson 1927); for 0 of 0 the interval is 0 to 1."""
    if not cases:
        return Estimate(0.0, 0.0, 1.0)
    share, spread = hits / cases, _Z * _Z / cases
    centre = (share + spread / 2) / (1 + spread)
    half = _Z * math.sqrt(share * (1 - share) / cases + spread / (4 * cases)) / (1 + spread)
    return Estimate(share, max(0.0, centre - half), min(1.0, centre + half))


def bootstrap_mean(values: Sequence[float]) -> Estimate:
    """A mean with its percentile bootstrap interval (Efron 1979), the same for equal values."""
    if not values:
        return Estimate(0.0, 0.0, 1.0)
    data = np.asarray(values, np.float64)
    chance = np.random.default_rng(0)
    means = [data[chance.integers(0, len(data), len(data))].mean() for _ in range(_RESAMPLES)]
    low, high = np.percentile(means, (2.5, 97.5))
    return Estimate(float(data.mean()), float(low), float(high))


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """The chance that a positive scores higher than a negative, ties counting half (Hanley and McNeil 1982)."""
    ahead = np.asarray(positives)[:, None] - np.asarray(negatives)[None]
    return float(np.mean((ahead > 0) + 0.5 * (ahead == 0)))


def as_json(found: RelevanceFigure) -> dict[str, Any]:
    """A figure as JSON: shares by budget as [value, low, high], rounded to 4 digits.

    The keys `row` (the method) and `family` (the task) are those of earlier versions, so that old documents compare.
    """

    def rounded(estimate: Estimate) -> list[float]:
        return [round(number, 4) for number in (estimate.value, estimate.low, estimate.high)]

    def by_budget(estimates: tuple[Estimate, ...]) -> dict[str, list[float]]:
        return {str(budget): rounded(one) for budget, one in zip(BUDGETS, estimates, strict=True)}

    return {
        "row": found.method,
        "family": found.task,
        "tokens": found.tokens or "whole",
        "group": found.group,
        "cases": found.cases,
        "kept": by_budget(found.kept),
        "share": by_budget(found.share),
        "all_files": by_budget(found.all_files),
        "any_file": by_budget(found.any_file),
        "mrr": rounded(found.mrr),
        "first": rounded(found.first),
        "ndcg": dict(zip(("units", "files"), map(rounded, found.ndcg), strict=True)),
        "auroc": None if found.auroc is None else round(found.auroc, 4),
    }


def _grouped(outcomes: list[Outcome], group: Callable[[Outcome], str]) -> list[RelevanceFigure]:
    def key(outcome: Outcome) -> tuple[str, int, str, str]:
        return outcome.task, outcome.tokens, outcome.method, group(outcome)

    return [_figure(name, list(some)) for (*_, name), some in groupby(sorted(outcomes, key=key), key)]


def _figure(group: str, outcomes: list[Outcome]) -> RelevanceFigure:
    answered = [outcome for outcome in outcomes if outcome.reciprocal_rank is not None]
    unanswered = [outcome.top for outcome in outcomes if outcome.reciprocal_rank is None]

    def hits(kind: str) -> tuple[Estimate, ...]:
        columns = range(len(BUDGETS))
        return tuple(wilson(sum(getattr(one, kind)[column] for one in answered), len(answered)) for column in columns)

    first = outcomes[0]
    return RelevanceFigure(
        first.method,
        first.task,
        first.tokens,
        group,
        len(outcomes),
        hits("kept"),
        tuple(bootstrap_mean([one.share[column] for one in answered]) for column in range(len(BUDGETS))),
        hits("all_files"),
        hits("any_file"),
        bootstrap_mean([one.reciprocal_rank for one in answered if one.reciprocal_rank is not None]),
        wilson(sum(one.reciprocal_rank == 1 for one in answered), len(answered)),
        tuple(bootstrap_mean([one.ndcg[column] for one in answered]) for column in range(2)),
        auroc([one.top for one in answered], unanswered) if answered and unanswered else None,
    )
