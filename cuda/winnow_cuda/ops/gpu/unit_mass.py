"""`unit_mass` on the device: float16 keys of one KV head against queries split into two float16. A warp a unit."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32, int32, int64, uint32, uint64
from numpy.typing import NDArray

from winnow_cuda.ops.gpu.intrinsics import exp2, global_address, load_4, log2, mma_half, store_if
from winnow_cuda.ops.gpu.kernel import Kernel
from winnow_cuda.shapes import Float32

QUERIES = 16  # a block
_NOTHING = -1e30
_LOG2E = 1.4426950408889634
_LN2 = 0.6931471805599453


def split_queries(queries: Float32) -> NDArray[np.float16]:
    """float32 [N, D] → float16 [2, N', D], N' a multiple of QUERIES: scaled by log2 e / √D, high part and rest."""
    scaled = queries * np.float32(_LOG2E * queries.shape[1] ** -0.5)
    scaled = np.pad(scaled, ((0, -len(queries) % QUERIES), (0, 0)))
    high = scaled.astype(np.float16)
    return np.stack([high, (scaled - high.astype(np.float32)).astype(np.float16)])


@cache
def unit_mass(head_dim: int) -> Kernel:
    """Parameters: keys float16 [S, D], offsets int32 [U + 1], halves float16 [2, N, D] of `split_queries`, log_mass and
    peak float32 [U, N], N. Grid: (U, N / QUERIES). An empty unit gets -1e30 in both. D is 64 or 128.
    """
    tiles, pieces = QUERIES // 8, head_dim // 32  # a lane takes 8 neighbouring columns of every 32
    held, query_registers, key_registers = tiles * 4, 2 * tiles * pieces * 4, pieces * 8

    def body(keys: Any, offsets: Any, halves: Any, mass: Any, peak: Any, N: Any) -> None:
        lane, unit, block = int32(cuda.threadIdx.x), int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)
        g, t = lane >> int32(2), lane & int32(3)
        first, stop = offsets[unit], offsets[unit + int32(1)]
        q, k = cuda.local.array(query_registers, uint32), cuda.local.array(key_registers, uint32)
        a, acc = cuda.local.array(4, uint32), cuda.local.array(held, float32)
        high, total = cuda.local.array(held, float32), cuda.local.array(held, float32)
        for j in range(2 * tiles):
            row = int64(j // tiles) * int64(N) + int64(block * int32(QUERIES) + int32(j % tiles * 8) + g)
            for p in range(pieces):
                column = int64(p * 32) + int64(t << int32(3))
                load_4(
                    q,
                    (j * pieces + p) * 4,
                    uint64(global_address(halves) + uint64((row * int64(head_dim) + column) * int64(2))),
                )
        for i in range(held):
            high[i] = float32(_NOTHING)
            total[i] = float32(0.0)
        for step in range((stop - first + int32(15)) >> int32(4)):
            row = first + int32(step) * int32(16) + g
            for half in range(2):
                key = int64(min(row + int32(8 * half), stop - int32(1)))
                for p in range(pieces):
                    column = int64(p * 32) + int64(t << int32(3))
                    load_4(
                        k,
                        (half * pieces + p) * 4,
                        uint64(global_address(keys) + uint64((key * int64(head_dim) + column) * int64(2))),
                    )
            for i in range(held):
                acc[i] = float32(0.0)
            for p in range(pieces):
                for part in range(2):
                    low, further = p * 4 + 2 * part, (pieces + p) * 4 + 2 * part
                    a[0], a[1], a[2], a[3] = k[low], k[further], k[low + 1], k[further + 1]
                    for j in range(2 * tiles):
                        at = (j * pieces + p) * 4 + 2 * part
                        mma_half(acc, j % tiles * 4, a, 0, q[at], q[at + 1])
            for i in range(held):
                score = cuda.selp(row + int32(i // 2 % 2 * 8) < stop, acc[i], float32(_NOTHING))
                top = max(high[i], score)
                total[i] = total[i] * exp2(high[i] - top) + exp2(score - top)
                high[i] = top
        for tile in range(tiles):
            for i in range(2):
                j = 4 * tile + i
                top = max(high[j], high[j + 2])
                whole = total[j] * exp2(high[j] - top) + total[j + 2] * exp2(high[j + 2] - top)
                for step in range(3):
                    other = cuda.shfl_xor_sync(0xFFFFFFFF, top, 4 << step)
                    more = cuda.shfl_xor_sync(0xFFFFFFFF, whole, 4 << step)
                    further = max(top, other)
                    whole = whole * exp2(top - further) + more * exp2(other - further)
                    top = further
                empty = stop == first
                at = int64(unit) * int64(N) + int64(block * int32(QUERIES) + int32(8 * tile + i) + (t << int32(1)))
                found = (top + log2(whole)) * float32(_LN2)
                store_if(g == int32(0), mass, at, cuda.selp(empty, float32(_NOTHING), found))
                store_if(g == int32(0), peak, at, cuda.selp(empty, float32(_NOTHING), top * float32(_LN2)))

    parameters = ("u16*", "i32*", "u16*", "f32*", "f32*", "i32")
    return Kernel("unit_mass", body, parameters, 32, blocks_per_sm=16, constants=(head_dim,))
