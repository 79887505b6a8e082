"""Products with both matrices rounded to 8-bit integers (`_integers.py`): a drafter's dense products on the CPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit

from winnow_cuda.ops._integers import PANEL, TILE, in_threads, multiply_panel, packed, rounded_rows, scales_of
from winnow_cuda.ops.elementwise import gated
from winnow_cuda.shapes import Float32, LayerWeights, PackedMatrix, plain


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _products(a: Any, w: Any, start: int, stop: int, out: Float32) -> None:
    """Panels start:stop of out [rows, N]; a and w as `multiply_panel` takes them."""
    width = out.shape[1]
    for panel in range(start, stop):
        for tile in range(len(a[0])):
            multiply_panel(a, tile, w, panel, out, tile * TILE * width + panel * PANEL, width)


def int8_gemm(a: Float32, w: PackedMatrix, threads: int = 1) -> Float32:
    """a [M, K] · Wᵀ → [M, N], float32. Each thread takes some of the columns."""
    return _by_panels(_products, a, w, PANEL, w.scales.shape[1], threads)


def _by_panels(products: Any, a: Float32, w: PackedMatrix, width: int, columns: int, threads: int) -> Float32:
    """The first `columns` of what `products` makes of rows and panels, each of which gives `width` columns."""
    rows, panels, scales = rounded_rows(a), len(w.codes), scales_of(w)
    out = np.empty((rows.scales.shape[1], panels * width), np.float32)

    def work(start: int, stop: int) -> None:
        products((rows.codes, rows.scales), (w.codes, scales), start, stop, out)

    in_threads(work, panels, threads)
    return out[: len(a)] if columns == out.shape[1] else np.ascontiguousarray(out[: len(a), :columns])


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
def _swiglu_products(a: Any, w: Any, start: int, stop: int, out: Float32) -> None:
    """As `_products`, of panels that are half gate and half up; out has half as many columns."""
    product = np.empty((TILE, PANEL), np.float32)
    for panel in range(start, stop):
        for tile in range(len(a[0])):
            multiply_panel(a, tile, w, panel, product, 0, PANEL)
            _gated(product, out, tile * TILE, panel * HALF)


def packed_gate_up(gate_up: Float32) -> PackedMatrix:
    """Weights [2F, K], gate above up, as `int8_swiglu` takes them: 16 rows of each in turn, zeros behind the last."""
    width = gate_up.shape[1]
    gate, up = (np.pad(part, ((0, -len(part) % HALF), (0, 0))) for part in np.split(gate_up, 2))
    return packed(np.stack([gate.reshape(-1, HALF, width), up.reshape(-1, HALF, width)], axis=1).reshape(-1, width))


def int8_swiglu(a: Float32, gate_up: PackedMatrix, columns: int, threads: int = 1) -> Float32:
    """silu(gate) · up of a [M, K] · Wᵀ → [M, columns], float32. Each thread takes some of the columns."""
    return _by_panels(_swiglu_products, a, gate_up, HALF, columns, threads)


MATRICES = ("qkv", "attn_output", "gate_up", "ffn_down")
"""The fields of a layer that are packed, all or none."""


def packed_layer(layer: LayerWeights) -> LayerWeights:
    """A layer of float32 with its matrices packed."""
    return replace(
        layer,
        qkv=packed(plain(layer.qkv)),
        attn_output=packed(plain(layer.attn_output)),
        gate_up=packed_gate_up(plain(layer.gate_up)),
        ffn_down=packed(plain(layer.ffn_down)),
    )
