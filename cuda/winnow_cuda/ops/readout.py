"""From a head's columns to keys: int8 codes by token, and one vector a run of tokens."""

from __future__ import annotations

import math

import numpy as np

from winnow_cuda.ops._cache import compiled
from winnow_cuda.ops._exp import larger
from winnow_cuda.shapes import Float32, Int8, Int32


@compiled
def _pool_runs(y: Float32, logits: Float32, runs: Int32, out: Float32) -> None:
    columns = y.shape[1]
    for run in range(len(runs)):
        out[run] = 0
        for row in range(runs[run, 0], runs[run, 1]):
            square = np.float32(0.0)
            for c in range(columns):
                square += y[row, c] * y[row, c]
            x = logits[row]
            weight = larger(x, np.float32(0.0)) + math.log1p(math.exp(-abs(x)))
            scale = np.float32(weight / max(math.sqrt(square), 1e-12))
            for c in range(columns):
                out[run, c] += scale * y[row, c]


def pool_runs(y: Float32, logits: Float32, runs: Int32) -> Float32:
    """Σ softplus(w_s) · y_s / ‖y_s‖ over the rows of each run: y float32 [T, C], logits float32 [T], runs int32 [R, 2]
    of rows start:stop → float32 [R, C]; zeros for none."""
    out = np.empty((len(runs), y.shape[1]), np.float32)
    _pool_runs(y, logits, runs, out)
    return out


def quantise_keys(x: Float32) -> tuple[Int8, Float32]:
    """x / ‖x‖ ≈ codes · scale, scale = max|x| / (127 ‖x‖) (Dettmers et al. 2022): x float32 [S, D] → codes int8 [S, D]
    and scales float32 [S]; a row of zeros gets scale 0."""
    highest, length = np.abs(x).max(axis=1), np.sqrt(np.cumsum(x * x, axis=1)[:, -1])  # a sum from left to right
    filled, steps = highest > 0, np.float32(127.0)
    scales = np.divide(highest, steps * length, where=filled, out=np.zeros_like(highest))
    inverse = np.divide(steps, highest, where=filled, out=np.zeros_like(highest))
    return np.rint(x * inverse[:, None]).astype(np.int8, "C"), scales
