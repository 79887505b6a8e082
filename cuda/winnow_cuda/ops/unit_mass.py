"""The attention that one head gives each unit: per query token, the log of the unit's summed exp scores.

With q and k before RoPE and scale 1/√D, log_mass(i, u) = log Σ_{s ∈ u} exp(q_i·k_s·scale). Subtracting the log-sum
over all units turns it into the log of the unit's softmax mass. Keys are int8 with a scale each; a block of them is
decoded at a time.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import njit

from winnow_cuda.ops._exp import exp_nonpositive
from winnow_cuda.shapes import Float16, Float32, Int8, Int64

_BLOCK = 8192
_NOTHING = np.float32(-1e30)


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _accumulate(scores: Float32, first: int, offsets: Int64, unit: int, high: Float32, total: Float32) -> int:
    """Online log-sum-exp of scores [S_block, N] into high and total [U, N] (Milakov and Gimelshein 2018, alg. 3)."""
    for row in range(scores.shape[0]):
        while offsets[unit + 1] <= first + row:
            unit += 1
        for i in range(scores.shape[1]):
            x, h = scores[row, i], high[unit, i]
            m = max(x, h)
            total[unit, i] = total[unit, i] * exp_nonpositive(h - m) + exp_nonpositive(x - m)
            high[unit, i] = m
    return unit


def unit_mass(codes: Int8, scales: Float16, offsets: Int64, queries: Float32) -> tuple[Float32, Float32]:
    """codes int8 [S, D] of one KV head's keys with scales float16 [S]; unit u = rows offsets[u]:offsets[u+1]; queries
    float32 [N, D] of one head → (log_mass, peak), float32 [U, N] each; peak is the highest score. An empty unit gets
    -1e30 in both."""
    shape = (len(offsets) - 1, len(queries))
    high, total = np.full(shape, _NOTHING, np.float32), np.zeros(shape, np.float32)
    scaled = np.ascontiguousarray(queries.T * np.float32(queries.shape[1] ** -0.5))
    unit = 0
    for first in range(0, len(codes), _BLOCK):
        scores = codes[first : first + _BLOCK].astype(np.float32) @ scaled
        scores *= scales[first : first + _BLOCK, None]
        unit = _accumulate(scores, first, offsets, unit, high, total)
    mass = np.where(total > 0, high + np.log(np.maximum(total, np.float32(1e-37))), _NOTHING)
    return mass.astype(np.float32), high


def unit_mass_numpy(codes: Int8, scales: Float16, offsets: Int64, queries: Float32) -> tuple[Float32, Float32]:
    """The twin of `unit_mass`."""
    wide = codes.astype(np.float64) * scales[:, None]
    scores = wide @ queries.T.astype(np.float64) * queries.shape[1] ** -0.5
    mass = np.full((len(offsets) - 1, len(queries)), _NOTHING, np.float64)
    peak = mass.copy()
    for u, (a, b) in enumerate(pairwise(offsets)):
        if a < b:
            peak[u] = scores[a:b].max(0)
            mass[u] = peak[u] + np.log(np.exp(scores[a:b] - peak[u]).sum(0))
    return mass.astype(np.float32), peak.astype(np.float32)
