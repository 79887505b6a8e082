"""`maxsim` on the device: int8 keys of 64 columns against 16-bit queries, on int8 tensor cores. A warp takes a unit.

A query is split into two int8 halves, q = scale · (256 · high + low), so that two exact integer products keep 16 bits
of it. The order of columns within the product is free, as long as keys and queries share it: each lane takes 16
neighbouring columns, so a warp reads 8 whole keys with one instruction.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32, int32, int64, uint16, uint32, uint64
from numpy.typing import NDArray

from winnow_cuda.compiler.intrinsics import (
    global_address,
    load_4,
    load_if,
    low_half,
    mma_s8,
    store_if,
    warp_sum,
)
from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.shapes import Float32

COLUMNS = 64
QUERIES = 32  # per block
_NOTHING = -1e30
_LEVELS = 127 * 256


def int8_halves(queries: Float32, block: int) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """queries float32 [N, D] → high and low, int8 [2, N', D], and scales [N'], N' a multiple of `block`."""
    wide = np.pad(queries.astype(np.float64), ((0, -len(queries) % block), (0, 0)))
    scale = np.abs(wide).max(1, initial=0) / _LEVELS
    whole = np.rint(np.divide(wide, scale[:, None], out=np.zeros_like(wide), where=scale[:, None] > 0))
    high = np.rint(whole / 256)
    return np.stack([high, whole - 256 * high]).clip(-128, 127).astype(np.int8), scale


def split_queries(queries: Float32, weights: Float32) -> tuple[NDArray[np.int8], Float32]:
    """queries float32 [N, 64], weights [N] → halves int8 [2, N', 64] and weights float32 [N'], N' a multiple of
    QUERIES; the weights sum to one and take up the queries' scales."""
    halves, scale = int8_halves(queries, QUERIES)
    share = np.pad(weights.astype(np.float64) / weights.sum(), (0, len(scale) - len(weights))) * scale
    return halves, share.astype(np.float32)


@cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
def _load_key(keys: Any, index: Any, codes: Any, key: Any, t: Any) -> None:
    """Columns 16 t … 16 t + 15 of a key, 4 a register."""
    load_4(keys, index, uint64(global_address(codes) + uint64(int64(key) * int64(COLUMNS) + int64(t << int32(4)))))


@cache
def maxsim() -> Kernel:
    """Parameters: codes int8 [S, 64], scales float16 [S], runs int32 [U, 2]; halves int8 [2, N, 64] and weights
    float32 [N] of `split_queries`; out float32 [U, N / QUERIES], to be summed over its columns; U, N.

    Grid: (U, N / QUERIES). A unit without keys scores -1e30 · Σ weights.
    """
    tiles = QUERIES // 8
    held, both = tiles * 4, tiles * 8

    def body(codes: Any, scales: Any, runs: Any, halves: Any, weights: Any, out: Any, U: Any, N: Any) -> None:
        lane, unit, block = int32(cuda.threadIdx.x), int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)
        g, t = lane >> int32(2), lane & int32(3)
        first, stop = runs[int32(2) * unit], runs[int32(2) * unit + int32(1)]
        queries = cuda.local.array(both, uint32)
        for half in range(2):
            for tile in range(tiles):
                row = int64(half) * int64(N) + int64(block * int32(QUERIES) + int32(8 * tile) + g)
                at = uint64(global_address(halves) + uint64(row * int64(COLUMNS) + int64(t << int32(4))))
                load_4(queries, (half * tiles + tile) * 4, at)
        best, acc = cuda.local.array(held, float32), cuda.local.array(both, int32)
        a, keys = cuda.local.array(4, uint32), cuda.local.array(8, uint32)
        for i in range(held):
            best[i] = float32(_NOTHING)
        for step in range((stop - first + int32(15)) >> int32(4)):
            row = first + int32(step) * int32(16) + g
            for half in range(2):
                key = min(row + int32(8 * half), stop - int32(1))
                _load_key(keys, 4 * half, codes, key, t)
            for i in range(both):
                acc[i] = int32(0)
            for part in range(2):
                a[0], a[1], a[2], a[3] = keys[2 * part], keys[4 + 2 * part], keys[2 * part + 1], keys[5 + 2 * part]
                for j in range(2 * tiles):
                    mma_s8(acc, 4 * j, a, 0, queries[4 * j + 2 * part], queries[4 * j + 2 * part + 1])
            for half in range(2):
                ok = row + int32(8 * half) < stop
                key = min(row + int32(8 * half), stop - int32(1))
                scale = low_half(uint32(load_if(ok, scales, key, uint16(0))))
                for tile in range(tiles):
                    for i in range(2):
                        j = 4 * tile + 2 * half + i
                        dot = float32(int32(acc[j] * int32(256) + acc[4 * tiles + j])) * scale
                        best[j] = max(best[j], cuda.selp(ok, dot, float32(_NOTHING)))
        total = float32(0.0)
        for tile in range(tiles):
            for i in range(2):
                top = max(best[4 * tile + i], best[4 * tile + 2 + i])
                for step in range(3):
                    top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 4 << step))
                total += top * weights[block * int32(QUERIES) + int32(8 * tile + i) + (t << int32(1))]
        store_if(lane == int32(0), out, int64(unit) * int64(cuda.gridDim.y) + int64(block), warp_sum(total, 4))

    parameters = ("i8*", "u16*", "i32*", "i8*", "f32*", "f32*", "i32", "i32")
    return Kernel("maxsim", body, parameters, 32, blocks_per_sm=16)
