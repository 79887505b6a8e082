"""`unit_mass` on the device: int8 keys of one KV head, with their scales, on tensor cores. A warp handles a unit.

A lane takes 16 neighbouring bytes of every 64 of a key, which are fragments of the product. Each query comes in two
int8 halves, as for `maxsim`, so that the narrow products lose next to nothing of it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32, int32, int64, uint32, uint64

from winnow_cuda.compiler.intrinsics import exp2, global_address, load_4, log2, low_half, mma_s8, store_if
from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.ops.gpu.maxsim import int8_halves
from winnow_cuda.shapes import Float32, Int8

QUERIES = 16  # per block
_NOTHING = -1e30
_LOG2E = 1.4426950408889634
_LN2 = 0.6931471805599453


def split_queries(queries: Float32) -> tuple[Int8, Float32]:
    """float32 [N, D] → halves int8 [2, N', D] of the queries times log2 e / √D, N' a multiple of QUERIES, and the
    factors of their products, float32 [N']."""
    halves, factors = int8_halves(queries * np.float32(_LOG2E * queries.shape[1] ** -0.5), QUERIES)
    return halves, factors.astype(np.float32)


@cache
def unit_mass(head_dim: int) -> Kernel:
    """Parameters: codes int8 [S, D], scales float16 [S], runs int32 [U, 2]; halves and factors of `split_queries`;
    log_mass and peak float32 [U, N]; N.

    Grid: (U, N / QUERIES). An empty unit gets -1e30 in both. D is 64 or 128.
    """
    tiles, pieces = QUERIES // 8, head_dim // 64
    held, sums, factors_held = tiles * 4, tiles * 8, tiles * 2
    query_registers, key_registers = 2 * tiles * pieces * 4, pieces * 8

    def body(codes: Any, scales: Any, runs: Any, halves: Any, factors: Any, mass: Any, peak: Any, N: Any) -> None:
        lane, unit, block = int32(cuda.threadIdx.x), int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)
        g, t = lane >> int32(2), lane & int32(3)
        first, stop = runs[int32(2) * unit], runs[int32(2) * unit + int32(1)]
        q, k = cuda.local.array(query_registers, uint32), cuda.local.array(key_registers, uint32)
        a, acc = cuda.local.array(4, uint32), cuda.local.array(sums, int32)
        high, total = cuda.local.array(held, float32), cuda.local.array(held, float32)
        scale, factor = cuda.local.array(2, float32), cuda.local.array(factors_held, float32)
        for j in range(2 * tiles):
            row = int64(j // tiles) * int64(N) + int64(block * int32(QUERIES) + int32(j % tiles * 8) + g)
            at = uint64(global_address(halves) + uint64(row * int64(head_dim) + int64(t << int32(4))))
            for p in range(pieces):
                load_4(q, (j * pieces + p) * 4, uint64(at + uint64(64 * p)))
            factor[j] = factors[block * int32(QUERIES) + int32(j // 2 * 8 + j % 2) + (t << int32(1))]
        for i in range(held):
            high[i] = float32(_NOTHING)
            total[i] = float32(0.0)
        for step in range((stop - first + int32(15)) >> int32(4)):
            row = first + int32(step) * int32(16) + g
            for half in range(2):
                key = min(row + int32(8 * half), stop - int32(1))
                at = uint64(global_address(codes) + uint64(int64(key) * int64(head_dim) + int64(t << int32(4))))
                for p in range(pieces):
                    load_4(k, (half * pieces + p) * 4, uint64(at + uint64(64 * p)))
                scale[half] = low_half(uint32(scales[key]))
            for i in range(sums):
                acc[i] = int32(0)
            for p in range(pieces):
                for part in range(2):
                    low, further = p * 4 + 2 * part, (pieces + p) * 4 + 2 * part
                    a[0], a[1], a[2], a[3] = k[low], k[further], k[low + 1], k[further + 1]
                    for j in range(2 * tiles):
                        from_query = (j * pieces + p) * 4 + 2 * part
                        mma_s8(acc, 4 * j, a, 0, q[from_query], q[from_query + 1])
            for i in range(held):
                whole = float32(int32(acc[i] * int32(256) + acc[held + i]))
                score = whole * (scale[i // 2 % 2] * factor[i // 4 * 2 + i % 2])
                score = cuda.selp(row + int32(i // 2 % 2 * 8) < stop, score, float32(_NOTHING))
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

    parameters = ("i8*", "u16*", "i32*", "i8*", "f32*", "f32*", "f32*", "i32")
    return Kernel("unit_mass", body, parameters, 32, blocks_per_sm=16, constants=(head_dim,))
