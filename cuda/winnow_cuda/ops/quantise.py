"""Symmetric int8 by row: x ≈ codes · scale, with scale = max|x| / 127 (Dettmers et al. 2022, §2, absmax)."""

from __future__ import annotations

import numpy as np
from numba import njit

from winnow_cuda.shapes import Float32, Int8


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _quantise_rows(x: Float32, codes: Int8, scales: Float32) -> None:
    rows, width = x.shape
    for r in range(rows):
        highest = np.float32(0.0)
        for c in range(width):
            highest = max(highest, abs(x[r, c]))
        scales[r] = highest / np.float32(127.0)
        inverse = np.float32(127.0) / highest if highest > 0 else np.float32(0.0)
        for c in range(width):
            codes[r, c] = np.int8(np.rint(x[r, c] * inverse))


def quantise_rows(x: Float32) -> tuple[Int8, Float32]:
    """x float32 [S, D] → codes int8 [S, D] and scales float32 [S]; a row of zeros gets scale 0."""
    codes, scales = np.empty(x.shape, np.int8), np.empty(len(x), np.float32)
    _quantise_rows(np.ascontiguousarray(x), codes, scales)
    return codes, scales


def quantise_rows_numpy(x: Float32) -> tuple[Int8, Float32]:
    """The twin of `quantise_rows`."""
    highest = np.abs(x).max(-1, keepdims=True).astype(np.float32)
    inverse = np.divide(np.float32(127), highest, out=np.zeros_like(highest), where=highest > 0)
    return np.rint(x * inverse).astype(np.int8), (highest / np.float32(127))[:, 0]
