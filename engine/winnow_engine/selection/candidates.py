"""Candidates: the units of a workspace that are scored in full, and a sample that stands for all others, if any.

The mean, deviation and shares of all units are estimated as for a stratified sample (Cochran 1977, ch. 5): the chosen
candidates are one stratum, counted in full, the rest of the workspace is the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Scores


@dataclass(frozen=True)
class Candidates:
    """Some of a workspace's `total` units: `chosen` and `sample`, each int64 in ascending order.

    `units`, int64 [C], are both together, in ascending order. Each stands for `weights` units, float32 [C]: a chosen
    one for itself, the others of the sample in equal shares for all units that were not chosen.
    """

    chosen: NDArray[np.int64]
    sample: NDArray[np.int64]
    total: int

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """Chosen units and sample."""
        return self._with(self.sample)

    @cached_property
    def weights(self) -> NDArray[np.float32]:
        """The number of units of the workspace that each of `units` stands for."""
        others = np.ones(len(self.units), np.bool_)
        others[np.searchsorted(self.units, self.chosen)] = False
        share = (self.total - len(self.chosen)) / max(int(others.sum()), 1)
        return np.where(others, share, 1).astype(np.float32)

    def with_more(self, units: NDArray[np.int64]) -> Candidates:
        """These, and more that are chosen."""
        return Candidates(self._with(units), self.sample, self.total)

    def _with(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """The chosen ones and these, in ascending order."""
        among = np.zeros(self.total, np.bool_)
        among[self.chosen] = among[units] = True
        return np.flatnonzero(among)


def every(total: int) -> Candidates:
    """All units of a workspace."""
    return Candidates(np.arange(total), np.empty(0, np.int64), total)


def best(scores: Scores, most: int) -> NDArray[np.int64]:
    """The places of the highest scores above zero, at most so many, int64. Of equal scores the first come first."""
    above = np.flatnonzero(scores > 0)
    return above[highest(scores[above], most)]


def highest(scores: Scores, most: int) -> NDArray[np.int64]:
    """The places of the highest scores, at most so many, int64. Of equal scores the first come first."""
    last = len(scores) - most
    above = np.flatnonzero(scores >= np.partition(scores, last)[last]) if last > 0 else np.arange(len(scores))
    return above[np.argsort(-scores[above], kind="stable")[:most]]


def united(units: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """All of these units once, in ascending order."""
    return np.unique(np.concatenate([np.empty(0, np.int64), *units]))
