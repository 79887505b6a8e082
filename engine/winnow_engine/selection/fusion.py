"""One score a unit from several kinds of evidence."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

# A name that one unit of ten thousand defines stands 100 deviations out; it must not outvote everything else.
_LIMIT = 6.0


def zscore(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """(x − mean) / deviation over the units, float32 [U], cut off at ±6; all zeros where nothing differs."""
    deviation = values.std() if len(values) else 0.0
    if deviation < 1e-9:
        return np.zeros(len(values), np.float32)
    return np.clip((values - values.mean()) / deviation, -_LIMIT, _LIMIT).astype(np.float32)


def fuse(evidence: Iterable[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Σ of the z-scores, float32 [U]."""
    return np.asarray(np.sum([zscore(values) for values in evidence], axis=0), np.float32)
