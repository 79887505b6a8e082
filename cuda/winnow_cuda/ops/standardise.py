"""Hidden states as a trained head sees them: x̂ = (x / sqrt(mean(x²) + eps) − mean) / deviation, by row."""

from __future__ import annotations

import numpy as np
from numba import njit

from winnow_cuda.shapes import Float32

EPS = 1e-6


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _standardise(x: Float32, mean: Float32, deviation: Float32, out: Float32) -> None:
    rows, width = x.shape
    for r in range(rows):
        square = np.float32(0.0)
        for c in range(width):
            square += x[r, c] * x[r, c]
        scale = np.float32(1.0) / np.sqrt(square / np.float32(width) + np.float32(EPS))
        for c in range(width):
            out[r, c] = (x[r, c] * scale - mean[c]) / deviation[c]


def standardise(x: Float32, mean: Float32, deviation: Float32) -> Float32:
    """x float32 [T, width], mean and deviation float32 [width] → float32 [T, width]."""
    out = np.empty_like(x)
    _standardise(np.ascontiguousarray(x), mean, deviation, out)
    return out


def standardise_numpy(x: Float32, mean: Float32, deviation: Float32) -> Float32:
    """The twin of `standardise`."""
    wide = x.astype(np.float64)
    scaled = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + EPS)
    return np.asarray((scaled - mean) / deviation, np.float32)
