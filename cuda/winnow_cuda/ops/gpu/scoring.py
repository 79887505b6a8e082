"""`scoring` on the device: a warp takes a unit. `maxsim` and `unit_mass` run on int8 tensor cores.

A query is split into two int8 halves, q = scale · (256 · high + low), so that two exact integer products keep 16 bits
of it. The order of columns within the product is free, as long as keys and queries share it: a lane takes 16
neighbouring bytes of every 64 of a key, so a warp reads 8 whole keys with one instruction.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32, int32, int64, uint16, uint32, uint64
from numpy.typing import NDArray

from winnow_cuda.compiler.intrinsics import (
    exp2,
    float_of,
    global_address,
    high_half,
    load_4,
    load_if,
    log2,
    low_half,
    mma_s8,
    store_if,
    warp_sum,
)
from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.shapes import Float32, Int8

COLUMNS = 64
MAXSIM_QUERIES, MASS_QUERIES, UNITS = 32, 16, 8  # per block
_NOTHING = -1e30
_LEVELS = 127 * 256
_LOG2E = 1.4426950408889634
_LN2 = 0.6931471805599453


def int8_halves(queries: Float32, block: int) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """queries float32 [N, D] → high and low, int8 [2, N', D], and scales [N'], N' a multiple of `block`."""
    wide = np.pad(queries.astype(np.float64), ((0, -len(queries) % block), (0, 0)))
    scale = np.abs(wide).max(1, initial=0) / _LEVELS
    whole = np.rint(np.divide(wide, scale[:, None], out=np.zeros_like(wide), where=scale[:, None] > 0))
    high = np.rint(whole / 256)
    return np.stack([high, whole - 256 * high]).clip(-128, 127).astype(np.int8), scale


def split_maxsim_queries(queries: Float32, weights: Float32) -> tuple[NDArray[np.int8], Float32]:
    """queries float32 [N, 64], weights [N] → halves int8 [2, N', 64] and weights float32 [N'], N' a multiple of
    MAXSIM_QUERIES; the weights sum to one and take up the queries' scales."""
    halves, scale = int8_halves(queries, MAXSIM_QUERIES)
    share = np.pad(weights.astype(np.float64) / weights.sum(), (0, len(scale) - len(weights))) * scale
    return halves, share.astype(np.float32)


@cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
def _load_key(keys: Any, index: Any, codes: Any, key: Any, t: Any) -> None:
    """Columns 16 t … 16 t + 15 of a key, 4 a register."""
    load_4(keys, index, uint64(global_address(codes) + uint64(int64(key) * int64(COLUMNS) + int64(t << int32(4)))))


@cache
def maxsim() -> Kernel:
    """Parameters: codes int8 [S, 64], scales float16 [S], runs int32 [U, 2]; halves int8 [2, N, 64] and weights
    float32 [N] of `split_maxsim_queries`; out float32 [U, N / MAXSIM_QUERIES], to be summed over its columns; U, N.

    Grid: (U, N / MAXSIM_QUERIES). A unit without keys scores -1e30 · Σ weights.
    """
    tiles = MAXSIM_QUERIES // 8
    held, both = tiles * 4, tiles * 8

    def body(codes: Any, scales: Any, runs: Any, halves: Any, weights: Any, out: Any, U: Any, N: Any) -> None:
        lane, unit, block = int32(cuda.threadIdx.x), int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)
        g, t = lane >> int32(2), lane & int32(3)
        first, stop = runs[int32(2) * unit], runs[int32(2) * unit + int32(1)]
        queries = cuda.local.array(both, uint32)
        for half in range(2):
            for tile in range(tiles):
                row = int64(half) * int64(N) + int64(block * int32(MAXSIM_QUERIES) + int32(8 * tile) + g)
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
                total += top * weights[block * int32(MAXSIM_QUERIES) + int32(8 * tile + i) + (t << int32(1))]
        store_if(lane == int32(0), out, int64(unit) * int64(cuda.gridDim.y) + int64(block), warp_sum(total, 4))

    parameters = ("i8*", "u16*", "i32*", "i8*", "f32*", "f32*", "i32", "i32")
    return Kernel("maxsim", body, parameters, 32, blocks_per_sm=16)


def split_mass_queries(queries: Float32) -> tuple[Int8, Float32]:
    """float32 [N, D] → halves int8 [2, N', D] of the queries times log2 e / √D, N' a multiple of MASS_QUERIES, and the
    factors of their products, float32 [N']."""
    halves, factors = int8_halves(queries * np.float32(_LOG2E * queries.shape[1] ** -0.5), MASS_QUERIES)
    return halves, factors.astype(np.float32)


@cache
def unit_mass(head_dim: int) -> Kernel:
    """Parameters: codes int8 [S, D], scales float16 [S], runs int32 [U, 2]; halves and factors of `split_mass_queries`;
    log_mass and peak float32 [U, N]; N.

    Grid: (U, N / MASS_QUERIES). An empty unit gets -1e30 in both. D is 64 or 128.
    """
    tiles, pieces = MASS_QUERIES // 8, head_dim // 64
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
            row = int64(j // tiles) * int64(N) + int64(block * int32(MASS_QUERIES) + int32(j % tiles * 8) + g)
            at = uint64(global_address(halves) + uint64(row * int64(head_dim) + int64(t << int32(4))))
            for p in range(pieces):
                load_4(q, (j * pieces + p) * 4, uint64(at + uint64(64 * p)))
            factor[j] = factors[block * int32(MASS_QUERIES) + int32(j // 2 * 8 + j % 2) + (t << int32(1))]
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
                at = int64(unit) * int64(N) + int64(block * int32(MASS_QUERIES) + int32(8 * tile + i) + (t << int32(1)))
                found = (top + log2(whole)) * float32(_LN2)
                store_if(g == int32(0), mass, at, cuda.selp(empty, float32(_NOTHING), found))
                store_if(g == int32(0), peak, at, cuda.selp(empty, float32(_NOTHING), top * float32(_LN2)))

    parameters = ("i8*", "u16*", "i32*", "i8*", "f32*", "f32*", "f32*", "i32")
    return Kernel("unit_mass", body, parameters, 32, blocks_per_sm=16, constants=(head_dim,))


@cache
def unit_products(columns: int) -> Kernel:
    """Parameters: vectors float16 [U, columns], a multiple of 256, queries float32 [N, columns], out float32 [U, N], U.
    Grid: (ceil(U / UNITS), N)."""
    pieces = columns // 256

    def body(vectors: Any, queries: Any, out: Any, U: Any) -> None:
        lane, warp = int32(cuda.threadIdx.x) & int32(31), int32(cuda.threadIdx.x) >> int32(5)
        unit = int32(cuda.blockIdx.x) * int32(UNITS) + warp
        n, count = int32(cuda.blockIdx.y), int32(cuda.gridDim.y)
        start = int64(min(unit, U - int32(1))) * int64(columns)
        pairs, asked = cuda.local.array(4, uint32), cuda.local.array(8, uint32)
        total = float32(0.0)
        for p in range(pieces):
            column = (lane << int32(3)) + int32(256 * p)
            load_4(pairs, 0, uint64(global_address(vectors) + uint64((start + int64(column)) * int64(2))))
            at = uint64(global_address(queries) + uint64((n * int32(columns) + column) << int32(2)))
            load_4(asked, 0, at)
            load_4(asked, 4, uint64(at + uint64(16)))
            for i in range(4):
                total += low_half(pairs[i]) * float_of(asked[2 * i])
                total += high_half(pairs[i]) * float_of(asked[2 * i + 1])
        store_if((unit < U) & (lane == int32(0)), out, int64(unit) * int64(count) + int64(n), warp_sum(total, 32))

    return Kernel("unit_products", body, ("u16*", "f32*", "f32*", "i32"), 32 * UNITS, constants=(columns,))
