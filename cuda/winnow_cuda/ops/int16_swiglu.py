"""SwiGLU (`swiglu.py`) of A · Wᵀ, rounded as `_int16.py` says: what the first half of a feed-forward block leaves.

The product with gate and up, twice as wide as what is made of it, never goes through memory.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from winnow_cuda.ops._int16 import PANEL, TILE, in_threads, multiply_panel, packed, rounded_rows, scales_of
from winnow_cuda.ops.int16_gemm import int16_gemm_numpy
from winnow_cuda.ops.swiglu import gated, swiglu_numpy
from winnow_cuda.shapes import Float32, Int16, PackedMatrix

HALF = PANEL // 2
"""Columns of gate, and of up, in a panel."""


# Inlined, so that no copy is compiled by itself, with other rounding.
@njit(nogil=True, fastmath=True, forceinline=True, cache=True)  # type: ignore[untyped-decorator]
def _gated(gate_up: Float32, out: Float32, row: int, column: int) -> None:
    """gate_up [TILE, PANEL], half gate and half up, into TILE rows and HALF columns of out."""
    for r in range(TILE):
        for c in range(HALF):
            out[row + r, column + c] = gated(gate_up[r, c], gate_up[r, c + HALF])


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _swiglu_products(
    a: Int16, a_scales: Float32, w: Int16, w_scales: Float32, start: int, stop: int, out: Float32
) -> None:
    """As `int16_gemm._products`, of panels that are half gate and half up; out has half as many columns."""
    product = np.empty((TILE, PANEL), np.float32)
    for panel in range(start, stop):
        for tile in range(len(a)):
            multiply_panel(a, a_scales, tile, w, w_scales, panel, product, 0, PANEL)
            _gated(product, out, tile * TILE, panel * HALF)


def packed_gate_up(gate_up: Float32) -> PackedMatrix:
    """Weights [2F, K], gate above up, as `int16_swiglu` takes them: 16 rows of each in turn, zeros behind the last."""
    width = gate_up.shape[1]
    gate, up = (np.pad(part, ((0, -len(part) % HALF), (0, 0))) for part in np.split(gate_up, 2))
    return packed(np.stack([gate.reshape(-1, HALF, width), up.reshape(-1, HALF, width)], axis=1).reshape(-1, width))


def int16_swiglu(a: Float32, gate_up: PackedMatrix, columns: int, threads: int = 1) -> Float32:
    """silu(gate) · up of a [M, K] · Wᵀ → [M, columns], float32. Each thread takes some of the columns."""
    rows, panels, scales = rounded_rows(a), len(gate_up.codes), scales_of(gate_up)
    out = np.empty((rows.scales.shape[1], panels * HALF), np.float32)

    def work(start: int, stop: int) -> None:
        _swiglu_products(rows.codes, rows.scales, gate_up.codes, scales, start, stop, out)

    in_threads(work, panels, threads)
    return out[: len(a)] if columns == out.shape[1] else np.ascontiguousarray(out[: len(a), :columns])


def int16_swiglu_numpy(a: Float32, gate_up: Float32) -> Float32:
    """The twin of `int16_swiglu`, of unpacked weights, gate above up: what comes out without rounding."""
    return swiglu_numpy(int16_gemm_numpy(a, gate_up))
