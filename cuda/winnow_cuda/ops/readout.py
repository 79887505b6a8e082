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


@compiled
def _quantise_keys(x: Float32, codes: Int8, scales: Float32) -> None:
    rows, width = x.shape
    for r in range(rows):
        highest, square = np.float32(0.0), np.float32(0.0)
        for c in range(width):
            highest = larger(highest, abs(x[r, c]))
            square += x[r, c] * x[r, c]
        filled = highest > 0
        scales[r] = highest / (np.float32(127.0) * np.sqrt(square)) if filled else np.float32(0.0)
        inverse = np.float32(127.0) / highest if filled else np.float32(0.0)
        for c in range(width):
            codes[r, c] = np.int8(np.rint(x[r, c] * inverse))


def quantise_keys(x: Float32) -> tuple[Int8, Float32]:
    """x / ‖x‖ ≈ codes · scale, scale = max|x| / (127 ‖x‖) (Dettmers et al. 2022): x float32 [S, D] → codes int8 [S, D]
    and scales float32 [S]; a row of zeros gets scale 0."""
    codes, scales = np.empty(x.shape, np.int8), np.empty(len(x), np.float32)
    _quantise_keys(np.ascontiguousarray(x), codes, scales)
    return codes, scales
