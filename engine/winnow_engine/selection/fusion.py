"""One score a unit from several kinds of evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# A name that one unit of ten thousand defines stands 100 deviations out; it must not outvote everything else.
STRONG = 6.0
WEAK = 1.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """Scores of all units, float32 [U], and how many deviations at most one unit may gain or lose by them."""

    scores: NDArray[np.float32]
    limit: float = STRONG


def zscore(evidence: Evidence) -> NDArray[np.float32]:
    """(x − mean) / deviation over the units, float32 [U], cut off at the limit; zeros where nothing differs."""
    scores = evidence.scores
    deviation = scores.std() if len(scores) else 0.0
    if deviation < 1e-9:
        return np.zeros(len(scores), np.float32)
    deviations = (scores - scores.mean()) / deviation
    return np.asarray(np.clip(deviations, -evidence.limit, evidence.limit), np.float32)


@dataclass(frozen=True, slots=True)
class Scores:
    """`total`, float32 [U], is the sum of the `parts`: z-scores by kind of evidence, float32 [U] each."""

    total: NDArray[np.float32]
    parts: Mapping[str, NDArray[np.float32]]

    def of(self, unit: int) -> dict[str, float]:
        """What each kind of evidence says of one unit."""
        return {kind: round(float(scores[unit]), 2) for kind, scores in self.parts.items()}


def fuse(evidence: Mapping[str, Evidence]) -> Scores:
    """Σ of the z-scores."""
    parts = {kind: zscore(one) for kind, one in evidence.items()}
    return Scores(np.asarray(np.sum(list(parts.values()), axis=0), np.float32), parts)
