"""One score a unit from several kinds of evidence."""

from __future__ import annotations

from collections.abc import Iterable
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


def fuse(evidence: Iterable[Evidence]) -> NDArray[np.float32]:
    """Σ of the z-scores, float32 [U]."""
    return np.asarray(np.sum([zscore(one) for one in evidence], axis=0), np.float32)
