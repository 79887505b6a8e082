"""Candidates: the units of a large workspace that are scored in full, and a sample that stands for all others.

What a score means depends on all units: on their mean and deviation, and on the sum of their shares. These are
estimated as for a stratified sample (Cochran 1977, ch. 5): the candidates that were chosen are one stratum, counted in
full; the rest of the workspace is the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Scores

_LEAST_WEIGHT = 0.1  # of the mean
_LOOKED_AT = 1 << 16  # scores by which a threshold for the best is guessed


@dataclass(frozen=True)
class Candidates:
    """Some of a workspace's `total` units: `chosen` and `sample`, each int64 in ascending order.

    `units`, int64 [C], are both together, in ascending order. Each stands for `weights` units, float32 [C]: one that
    was chosen for itself, the others of the sample together for all that were not chosen. `known`, float32 [U], is a
    score of every unit. The weights are such that its mean and deviation come out right, and so, nearly, do those of
    scores like it (calibration estimators, Deville and Särndal 1992, eq. 2.5).
    """

    chosen: NDArray[np.int64]
    sample: NDArray[np.int64]
    total: int
    known: Scores | None = None

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """Chosen and sample."""
        return np.union1d(self.chosen, self.sample)

    @cached_property
    def weights(self) -> NDArray[np.float32]:
        """How many units of the workspace each of `units` stands for."""
        weights = np.ones(len(self.units), np.float32)
        others = ~np.isin(self.units, self.chosen, assume_unique=True)
        if others.any():
            weights[others] = self._weights_of(self.units[others])
        return weights

    def _weights_of(self, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """How many of the units that were not chosen each of these stands for, float64 [N]."""
        equal = (self.total - len(self.chosen)) / len(others)
        powers = self._powers(others)
        # Over all units the powers of a standardised score add up to their number, zero, and their number again.
        wanted = self.total * np.array([1.0, 0.0, 1.0]) - self._powers(self.chosen).sum(axis=0)
        shift = np.linalg.lstsq(powers.T @ powers, wanted / equal - powers.sum(axis=0), rcond=None)[0]
        return np.asarray(equal * np.maximum(1 + powers @ shift, _LEAST_WEIGHT), np.float64)

    def _powers(self, units: NDArray[np.int64]) -> NDArray[np.float64]:
        """1, x and x² of each unit, float64 [N, 3], where x is the known score, standardised."""
        if self.known is None:
            return np.ones((len(units), 1)) * (1.0, 0.0, 1.0)
        x = (self.known[units] - np.float64(self.known.mean())) / max(float(self.known.std()), 1e-9)
        return np.stack([np.ones(len(units)), x, x**2], axis=1)

    def with_more(self, units: NDArray[np.int64]) -> Candidates:
        """These, and more that are chosen."""
        return Candidates(np.union1d(self.chosen, units), self.sample, self.total, self.known)


def best(scores: Scores, most: int) -> NDArray[np.int64]:
    """The places of the highest scores above zero, at most so many, int64. Of equal scores the first come first."""
    above = np.flatnonzero(scores > 0)
    return above[highest(scores[above], most)]


def highest(scores: Scores, most: int) -> NDArray[np.int64]:
    """The places of the highest scores, at most so many, int64. Of equal scores the first come first."""
    above = np.flatnonzero(scores >= _guessed_threshold(scores, most))
    if len(above) < min(most, len(scores)):
        above = np.arange(len(scores))
    return above[np.argsort(-scores[above], kind="stable")[:most]]


def _guessed_threshold(scores: Scores, most: int) -> float:
    """A score that probably more than `most` reach, but not many more: from every n-th score of many."""
    few = scores[:: max(len(scores) // _LOOKED_AT, 1)]
    wanted = 2 * most * len(few) // max(len(scores), 1) + 64
    return float(np.partition(few, len(few) - wanted)[len(few) - wanted]) if wanted < len(few) else -np.inf


def united(units: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """All of these units once, in ascending order."""
    return np.unique(np.concatenate([np.empty(0, np.int64), *units]))
