"""A · Wᵀ with both matrices rounded to 16-bit integers (`_int16.py`): a drafter's dense products on the CPU.

On one core of an AMD EPYC of family 26, 512 rows by the feed-forward block's matrices, GFLOP/s: 450 to 490 with AVX-512
and 230 to 250 with AVX2, where OpenBLAS's float32 product has 230 and 115.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from winnow_cuda.ops._int16 import PANEL, TILE, in_threads, multiply_panel, rounded_rows, scales_of
from winnow_cuda.shapes import Float32, Int16, PackedMatrix


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _products(a: Int16, a_scales: Float32, w: Int16, w_scales: Float32, start: int, stop: int, out: Float32) -> None:
    """Panels start:stop of out [rows, N]; a [tiles, chunks, pairs, 2 TILE], w [panels, chunks, pairs, 64]."""
    width = out.shape[1]
    for panel in range(start, stop):
        for tile in range(len(a)):
            at = tile * TILE * width + panel * PANEL
            multiply_panel(a, a_scales, tile, w, w_scales, panel, out, at, width)


def int16_gemm(a: Float32, w: PackedMatrix, threads: int = 1) -> Float32:
    """a [M, K] · Wᵀ → [M, N], float32. Each thread takes some of the columns."""
    rows, panels, columns = rounded_rows(a), len(w.codes), w.scales.shape[1]
    out, scales = np.empty((rows.scales.shape[1], panels * PANEL), np.float32), scales_of(w)

    def work(start: int, stop: int) -> None:
        _products(rows.codes, rows.scales, w.codes, scales, start, stop, out)

    in_threads(work, panels, threads)
    return out[: len(a)] if columns == out.shape[1] else np.ascontiguousarray(out[: len(a), :columns])


def int16_gemm_numpy(a: Float32, w: Float32) -> Float32:
    """The twin of `int16_gemm`, of unpacked weights: what a product without rounding is."""
    return np.asarray(a.astype(np.float64) @ w.T.astype(np.float64), np.float32)
