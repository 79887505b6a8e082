"""Products with both matrices rounded to 8-bit integers (`_integers.py`): a drafter's dense products on the CPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from winnow_cuda.ops._cache import compiled
from winnow_cuda.ops._integers import PANEL, TILE, in_threads, multiply_panel, packed, rounded_rows, scales_of
from winnow_cuda.ops.elementwise import gated
from winnow_cuda.shapes import Float32, LayerWeights, PackedMatrix, plain

HALF = PANEL // 2
"""Columns of gate, and of up, in a panel."""


@compiled(fastmath=True)
def _products(a: Any, w: Any, start: int, stop: int, gates: bool, room: Float32, out: Float32) -> None:
    """Panels start:stop of out [rows, N]; a and w as `multiply_panel` takes them.

    `gates`: panels are half gate and half up, and out has half as many columns. room [TILE, PANEL].
    """
    width = PANEL if gates else out.shape[1]
    into = room if gates else out
    for panel in range(start, stop):
        for tile in range(len(a[0])):
            multiply_panel(a, tile, w, panel, into, 0 if gates else tile * TILE * width + panel * PANEL, width)
            for row in range(TILE if gates else 0):
                for column in range(HALF):
                    out[tile * TILE + row, panel * HALF + column] = gated(room[row, column], room[row, column + HALF])


def int8_gemm(a: Float32, w: PackedMatrix, threads: int = 1) -> Float32:
    """a [M, K] · Wᵀ → [M, N], float32. Each thread takes some of the columns."""
    return _by_panels(a, w, PANEL, w.scales.shape[1], threads)


def int8_swiglu(a: Float32, gate_up: PackedMatrix, columns: int, threads: int = 1) -> Float32:
    """silu(gate) · up of a [M, K] · Wᵀ → [M, columns], float32. Each thread takes some of the columns."""
    return _by_panels(a, gate_up, HALF, columns, threads)


def _by_panels(a: Float32, w: PackedMatrix, width: int, columns: int, threads: int) -> Float32:
    """The first `columns` of the products of rows and panels, each of which gives `width` columns."""
    rows, panels, scales = rounded_rows(a), len(w.codes), scales_of(w)
    out = np.empty((rows.scales.shape[1], panels * width), np.float32)

    def work(start: int, stop: int) -> None:
        room = np.empty((TILE, PANEL), np.float32)
        _products((rows.codes, rows.scales), (w.codes, scales), start, stop, width == HALF, room, out)

    in_threads(work, panels, threads)
    return out[: len(a)] if columns == out.shape[1] else np.ascontiguousarray(out[: len(a), :columns])


def packed_gate_up(gate_up: Float32) -> PackedMatrix:
    """Weights [2F, K], gate above up, as `int8_swiglu` takes them: 16 rows of each in turn, zeros behind the last."""
    width = gate_up.shape[1]
    both = gate_up.reshape(2, -1, width)
    if missing := -both.shape[1] % HALF:
        both = np.pad(both, ((0, 0), (0, missing), (0, 0)))
    return packed(both.reshape(2, -1, HALF, width).swapaxes(0, 1).reshape(-1, width))


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
