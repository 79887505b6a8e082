"""The attention kernels on Hopper's asynchronous tensor cores (`wgmma`, sm_90a only); parameters as in `attention`.

Two warpgroups take 64 query rows each. Scores come from shared memory on both sides; the probabilities stay in
registers as the left operand of the second product, whose right operand, the values, is read transposed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, int32, int64, uint16, uint32, uint64

from winnow_cuda.compiler.intrinsics import (
    cp_async_commit,
    cp_async_wait_0,
    cp_async_wait_1,
    fence_async_shared,
    global_address,
    pack_half,
    quotient,
    shared_address,
    warpgroup_product,
    warpgroup_wait,
    wgmma_commit,
    wgmma_fence,
)
from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.ops.gpu.attention import NEVER, PARAMETERS, ROWS, key_copier, softmax
from winnow_cuda.ops.gpu.gemm_hopper import K_MAJOR, aligned, descriptor

_ROW, _ATOM = 128, 1024
_KEYS, _THREADS = 128, 256  # of a tile, of a block


@cache
def attention_hopper(head_dim: int) -> Kernel:
    """As `attention`, with tiles of 128 keys."""
    k_steps, key_tiles, column_tiles, log2_keys = head_dim // 16, _KEYS // 8, head_dim // 8, _KEYS.bit_length() - 1
    s_held, o_held, p_held = key_tiles * 4, column_tiles * 4, _KEYS // 4
    half_bytes, tile_bytes, query_bytes = _KEYS * _ROW, _KEYS * head_dim * 2, ROWS * head_dim * 2
    copy_queries, copy_keys = key_copier(ROWS, head_dim, _THREADS), key_copier(_KEYS, head_dim, _THREADS)
    hide, soften, store = softmax(1, key_tiles, column_tiles)
    score, mix = warpgroup_product(_KEYS, False, False), warpgroup_product(head_dim, True, True)
    scores_done, sums_done = warpgroup_wait(0, s_held), warpgroup_wait(0, o_held)
    # Values: 64-column halves `half_bytes` apart, groups of 8 keys 1,024 bytes apart.
    n_major = (1 << 62) | (_ATOM >> 4 << 32) | (half_bytes >> 4 << 16)

    def body(
        Q: Any, K: Any, V: Any, out: Any, PK: Any, PV: Any, prefix: Any, tiles: Any, stride: Any, out_stride: Any,
        group: Any, scale: Any,
    ) -> None:  # fmt: skip
        smem = aligned(shared_address(cuda.shared.array(0, uint16)))
        ring = uint32(smem + uint32(query_bytes))
        tid = int32(cuda.threadIdx.x)
        lane, warp, half = tid & int32(31), (tid >> int32(5)) & int32(3), tid >> int32(7)
        tile, head = int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)
        row, start, stop = tiles[tile * int32(4)], tiles[tile * int32(4) + int32(1)], tiles[tile * int32(4) + int32(2)]
        rows = min(stop - row, int32(ROWS))
        step, zero = int64(stride) * int64(2), int32(0)
        kv_column = uint64(quotient(head, group) * int32(2 * head_dim))
        from_q = uint64(global_address(Q) + uint64(head * int32(2 * head_dim)) + uint64(int64(row) * step))
        from_k = uint64(global_address(K) + kv_column + uint64(int64(start) * step))
        from_v = uint64(global_address(V) + kv_column + uint64(int64(start) * step))
        shared_k, shared_v = uint64(global_address(PK) + kv_column), uint64(global_address(PV) + kv_column)
        s, o, p = cuda.local.array(s_held, float32), cuda.local.array(o_held, float32), cuda.local.array(p_held, uint32)
        high, total = cuda.local.array(2, float32), cuda.local.array(2, float32)
        for i in range(s_held):
            s[i] = float32(0.0)
        for i in range(o_held):
            o[i] = float32(0.0)
        for i in range(2):
            high[i] = float32(NEVER)
            total[i] = float32(0.0)
        visible = prefix + row - start  # row r of the tile sees keys 0 … visible + r
        limit = visible + rows
        count = int32(limit + int32(_KEYS - 1)) >> int32(log2_keys)
        first = int64(0)
        copy_queries(smem, from_q, from_q, zero, zero, rows, step)
        copy_keys(ring, from_k, shared_k, first, prefix, limit, step)
        copy_keys(uint32(ring + uint32(tile_bytes)), from_v, shared_v, first, prefix, limit, step)
        cp_async_commit()
        q = descriptor(uint32(smem + uint32(half * int32(64 * _ROW))), K_MAJOR)
        local = half * int32(64) + warp * int32(16)
        for i in range(count):
            here = uint32(ring + uint32((int32(i) & int32(1)) * int32(2 * tile_bytes)))
            now = first
            if int32(i) + int32(1) < count:
                there = uint32(ring + uint32((int32(i + 1) & int32(1)) * int32(2 * tile_bytes)))
                first = int32(i + 1) * int32(_KEYS)
                copy_keys(there, from_k, shared_k, first, prefix, limit, step)
                copy_keys(uint32(there + uint32(tile_bytes)), from_v, shared_v, first, prefix, limit, step)
            cp_async_commit()
            cp_async_wait_1()
            fence_async_shared()
            cuda.syncthreads()
            k, v = descriptor(here, K_MAJOR), descriptor(uint32(here + uint32(tile_bytes)), n_major)
            wgmma_fence()
            for c in range(k_steps):
                along = c % 4 * 2
                a = uint64(q + uint64(along + c // 4 * (ROWS * _ROW >> 4)))
                score(s, 0, a, uint64(k + uint64(along + c // 4 * (half_bytes >> 4))), int32(c > 0))
            wgmma_commit()
            scores_done(s, 0)
            if now + int32(_KEYS) > visible:
                hide(s, now, visible + int32(1) + local, lane)
            soften(s, o, high, total, scale)
            for j in range(p_held):
                p[j] = pack_half(s[2 * j], s[2 * j + 1])
            wgmma_fence()
            for c in range(_KEYS // 16):
                mix(o, 0, p, 4 * c, uint64(v + uint64(c * (16 * _ROW >> 4))), int32(1))
            wgmma_commit()
            sums_done(o, 0)
            cuda.syncthreads()
        cp_async_wait_0()
        store(out, o, total, row, local, rows, head * int32(head_dim), out_stride, lane)

    shared, blocks_per_sm = query_bytes + 4 * tile_bytes + _ATOM, 2 if head_dim == 64 else 1
    return Kernel("segment_attention_hopper", body, PARAMETERS, _THREADS, blocks_per_sm, shared, "a", (head_dim,))
