"""One vector for a run of rows: Σ softplus(w_s) · y_s / ‖y_s‖ over the rows s of the run."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from winnow_cuda.shapes import Float32, Int32


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _pool_runs(y: Float32, logits: Float32, runs: Int32, out: Float32) -> None:
    columns = y.shape[1]
    for run in range(len(runs)):
        out[run] = 0
        for row in range(runs[run, 0], runs[run, 1]):
            square = np.float32(0.0)
            for c in range(columns):
                square += y[row, c] * y[row, c]
            x = logits[row]
            weight = max(x, np.float32(0.0)) + math.log1p(math.exp(-abs(x)))
            scale = np.float32(weight / max(math.sqrt(square), 1e-12))
            for c in range(columns):
                out[run, c] += scale * y[row, c]


def pool_runs(y: Float32, logits: Float32, runs: Int32) -> Float32:
    """y float32 [T, C], logits float32 [T], runs int32 [R, 2] of rows start:stop → float32 [R, C]; zeros for none."""
    out = np.empty((len(runs), y.shape[1]), np.float32)
    _pool_runs(y, logits, runs, out)
    return out


def pool_runs_numpy(y: Float32, logits: Float32, runs: Int32) -> Float32:
    """The twin of `pool_runs`."""
    wide = y.astype(np.float64)
    unit = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12)
    weighted = np.logaddexp(0, logits.astype(np.float64))[:, None] * unit
    sums = [weighted[start:stop].sum(0) for start, stop in runs]
    return np.asarray(sums, np.float32).reshape(len(runs), y.shape[1])
