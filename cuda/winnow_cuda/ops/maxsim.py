"""MaxSim by unit (ColBERT, Khattab and Zaharia 2020, eq. 3), weighted by query token.

score(u) = Σ_i w_i · max_{s ∈ u} q_i · k_s / Σ_i w_i, over int8 keys that are decoded a block at a time.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

from winnow_cuda.shapes import Float32, Int8, Int64

_BLOCK = 8192  # keys decoded at once: 2 MB of float32 at 64 columns
NOTHING = np.float32(-1e30)


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _unit_maxima(similarity: Float32, first: int, offsets: Int64, unit: int, best: Float32) -> int:
    """Fold similarity [S_block, N] of keys first.. into best [U, N]; returns the unit the block ends in."""
    for row in range(similarity.shape[0]):
        while offsets[unit + 1] <= first + row:
            unit += 1
        for i in range(similarity.shape[1]):
            best[unit, i] = max(best[unit, i], similarity[row, i])
    return unit


def maxsim(codes: Int8, scales: NDArray[np.float16], offsets: Int64, queries: Float32, weights: Float32) -> Float32:
    """Score units: codes int8 [S, D], scales float16 [S], unit u = rows offsets[u]:offsets[u+1] (int64 [U+1]),
    queries float32 [N, D], weights float32 [N] → float32 [U]. A unit without keys scores -1e30."""
    best = np.full((len(offsets) - 1, len(queries)), NOTHING, np.float32)
    transposed = np.ascontiguousarray(queries.T)
    unit = 0
    for first in range(0, len(codes), _BLOCK):
        keys = codes[first : first + _BLOCK] * scales[first : first + _BLOCK, None].astype(np.float32)
        unit = _unit_maxima(keys @ transposed, first, offsets, unit, best)
    return np.asarray(best @ (weights / weights.sum()), np.float32)


def maxsim_numpy(
    codes: Int8, scales: NDArray[np.float16], offsets: Int64, queries: Float32, weights: Float32
) -> Float32:
    """The twin of `maxsim`."""
    similarity = (codes.astype(np.float64) * scales[:, None]) @ queries.T.astype(np.float64)
    rows = [similarity[a:b].max(0, initial=NOTHING) for a, b in pairwise(offsets)]
    best = np.stack(rows) if rows else np.empty((0, len(queries)))
    return np.asarray(best @ (weights / weights.sum()), np.float32)
