"""Rows as int8 unit vectors: x / ‖x‖ ≈ codes · scale, scale = max|x| / (127 ‖x‖) (Dettmers et al. 2022, §2, absmax)."""

from __future__ import annotations

import numpy as np
from numba import njit

from winnow_cuda.shapes import Float32, Int8


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _quantise_keys(x: Float32, codes: Int8, scales: Float32) -> None:
    rows, width = x.shape
    for r in range(rows):
        highest, square = np.float32(0.0), np.float32(0.0)
        for c in range(width):
            highest = max(highest, abs(x[r, c]))
            square += x[r, c] * x[r, c]
        filled = highest > 0
        scales[r] = highest / (np.float32(127.0) * np.sqrt(square)) if filled else np.float32(0.0)
        inverse = np.float32(127.0) / highest if filled else np.float32(0.0)
        for c in range(width):
            codes[r, c] = np.int8(np.rint(x[r, c] * inverse))


def quantise_keys(x: Float32) -> tuple[Int8, Float32]:
    """x float32 [S, D] → codes int8 [S, D] and scales float32 [S]; a row of zeros gets scale 0."""
    codes, scales = np.empty(x.shape, np.int8), np.empty(len(x), np.float32)
    _quantise_keys(np.ascontiguousarray(x), codes, scales)
    return codes, scales


def quantise_keys_numpy(x: Float32) -> tuple[Int8, Float32]:
    """The twin of `quantise_keys`."""
    wide = x.astype(np.float64)
    highest, norm = np.abs(wide).max(-1, keepdims=True), np.linalg.norm(wide, axis=-1, keepdims=True)
    filled = highest > 0
    inverse = np.divide(127, highest, out=np.zeros_like(highest), where=filled)
    scales = np.divide(highest, 127 * norm, out=np.zeros_like(highest), where=filled)
    return np.rint(wide * inverse).astype(np.int8), scales[:, 0].astype(np.float32)
