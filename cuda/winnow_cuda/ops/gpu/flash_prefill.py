"""FlashPrefill (github.com/qhfan/FlashPrefill): which blocks of 128 keys a block of 128 queries attends to.

The mean key of a block stands for it. For query block m and key block n ≤ m, with s_i = q_i · mean_n / √D · log2 e over
the real rows i of block m: M_mn = max_i s_i and S_mn = Σ_i 2^(s_i - M_mn). Scores are put on one scale before they are
compared: S'_mn = S_mn · 2^(M_mn - max_n M_mn). On the diagonal row i counts with the share (i + 1) / 128 of the block
that it sees. Block n is kept if it is among the first or last, near the diagonal, or S'_mn ≥ alpha · max_n S'_mn.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, int32, int64, uint16, uint32, uint64

from winnow_cuda.compiler.intrinsics import (
    cp_async_commit,
    cp_async_wait_0,
    exp2,
    global_address,
    high_half,
    ldmatrix_x4,
    load_if,
    low_half,
    mma_half,
    pack_half,
    quotient,
    shared_address,
    store_if,
)
from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.ops.attention import BLOCK
from winnow_cuda.ops.gpu.attention import ROWS, key_copier

SCORE_WARPS = 4  # each takes 16 key blocks at a time
_NEVER = -1e30
_ROW = 128


@cache
def mean_keys(head_dim: int) -> Kernel:
    """Parameters: k float16 by row stride; means float16 pairs [HK, blocks, D / 2]; T; stride.

    A thread takes two columns. Grid: (blocks, HK).
    """
    pairs = head_dim // 2

    def body(k: Any, means: Any, T: Any, stride: Any) -> None:
        column, block, head = int32(cuda.threadIdx.x), int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)
        first = block * int32(BLOCK)
        count = min(T - first, int32(BLOCK))
        low, high = float32(0.0), float32(0.0)
        at = (int64(first) * int64(stride) + int64(head * int32(head_dim))) >> int64(1)
        for _ in range(count):
            pair = uint32(k[at + int64(column)])
            low += low_half(pair)
            high += high_half(pair)
            at += int64(stride) >> int64(1)
        scale = float32(1.0) / float32(count)
        to = (int64(head) * int64(cuda.gridDim.x) + int64(block)) * int64(pairs) + int64(column)
        means[to] = pack_half(low * scale, high * scale)

    return Kernel("mean_keys", body, ("u32*", "u32*", "i32", "i32"), pairs, constants=(head_dim,))


@cache
def block_scores(head_dim: int) -> Kernel:
    """Parameters: q float16 by row stride; means of `mean_keys`; M and S float32 [H, blocks, blocks], written up to the
    diagonal; T; stride; query heads per KV head; scale · log2 e. Grid: (blocks, H).

    Mean keys are the rows of the product and queries its columns, so that one warp holds all scores of a block.
    """
    k_steps, tiles, threads = head_dim // 16, ROWS // 8, 32 * SCORE_WARPS
    held, a_held, a_step = tiles * 4, k_steps * 4, 16 * SCORE_WARPS
    copy_queries, pairs = key_copier(ROWS, head_dim, threads), head_dim // 2

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def load_means(a: Any, means: Any, own: Any, first: Any, blocks: Any, t: Any) -> None:
        for k in range(k_steps):
            for i in range(4):
                row = own + int64(min(first + int32(i % 2 * 8), blocks - int32(1)))
                a[4 * k + i] = means[row * int64(pairs) + int64(8 * k + i // 2 * 4) + int64(t)]

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def multiply(s: Any, a: Any, b: Any, smem: Any, lane: Any) -> None:
        row = ((lane & int32(7)) + ((lane >> int32(4)) << int32(3))) * int32(_ROW)
        for k in range(k_steps):
            chunk = ((int32(2 * (k % 4)) + ((lane >> int32(3)) & int32(1))) ^ (lane & int32(7))) << int32(4)
            for n in range(tiles // 2):
                ldmatrix_x4(b, 0, uint32(smem + uint32(row + chunk + int32(n * 16 * _ROW + k // 4 * ROWS * _ROW))))
                mma_half(s, 8 * n, a, 4 * k, b[0], b[1])
                mma_half(s, 8 * n + 4, a, 4 * k, b[2], b[3])

    def body(Q: Any, means: Any, high: Any, total: Any, T: Any, stride: Any, group: Any, scale: Any) -> None:
        smem = shared_address(cuda.shared.array(0, uint16))
        lane, warp = int32(cuda.threadIdx.x) & int32(31), int32(cuda.threadIdx.x) >> int32(5)
        g, t = lane >> int32(2), lane & int32(3)
        m, head, blocks = int32(cuda.blockIdx.x), int32(cuda.blockIdx.y), int32(cuda.gridDim.x)
        rows, step = min(T - m * int32(ROWS), int32(ROWS)), int64(stride) * int64(2)
        origin = uint64(global_address(Q) + uint64(int64(m * int32(ROWS)) * step + int64(head * int32(2 * head_dim))))
        copy_queries(smem, origin, origin, int32(0), int32(0), rows, step)
        cp_async_commit()
        cp_async_wait_0()
        cuda.syncthreads()
        own = int64(quotient(head, group)) * int64(blocks)
        s, a, b = cuda.local.array(held, float32), cuda.local.array(a_held, uint32), cuda.local.array(4, uint32)
        for n in range(0, m + int32(1), a_step):
            first = int32(n) + warp * int32(16) + g
            load_means(a, means, own, first, blocks, t)
            for i in range(held):
                s[i] = float32(0.0)
            multiply(s, a, b, smem, lane)
            for half in range(2):
                block = first + int32(8 * half)
                top = float32(_NEVER)
                for tile in range(tiles):
                    for i in range(2):
                        inside = int32(8 * tile + i) + (t << int32(1)) < rows
                        j = 4 * tile + 2 * half + i
                        s[j] = cuda.selp(inside, s[j] * scale, float32(_NEVER))
                        top = max(top, s[j])
                top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 1))
                top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 2))
                part = float32(0.0)
                for tile in range(tiles):
                    for i in range(2):
                        seen = float32(int32(8 * tile + i + 1) + (t << int32(1))) * float32(1.0 / BLOCK)
                        share = cuda.selp(block == m, seen, float32(1.0))
                        part += share * exp2(s[4 * tile + 2 * half + i] - top)
                part += cuda.shfl_xor_sync(0xFFFFFFFF, part, 1)
                part += cuda.shfl_xor_sync(0xFFFFFFFF, part, 2)
                to = (int64(head) * int64(blocks) + int64(m)) * int64(blocks) + int64(block)
                store_if((t == int32(0)) & (block <= m), high, to, top)
                store_if((t == int32(0)) & (block <= m), total, to, part)

    parameters = ("u16*", "u32*", "f32*", "f32*", "i32", "i32", "i32", "f32")
    return Kernel("block_scores", body, parameters, threads, 1, ROWS * head_dim * 2, constants=(head_dim,))


@cache
def choose_blocks() -> Kernel:
    """Parameters: M and S float32 [H, blocks, blocks]; chosen int32 [H, blocks, blocks], counts int32 [H, blocks] as
    `block_attention` takes them; alpha, sink, window, last. One warp takes a query block. Grid: (blocks, H).
    """

    def body(high: Any, total: Any, chosen: Any, counts: Any, alpha: Any, sink: Any, window: Any, last: Any) -> None:
        lane, m, head = int32(cuda.threadIdx.x), int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)
        blocks = int32(cuda.gridDim.x)
        row = int64(head) * int64(blocks) + int64(m)
        at = row * int64(blocks) + int64(lane)
        top, best = float32(_NEVER), float32(0.0)
        for n in range(0, m + int32(1), 32):
            top = max(top, load_if(int32(n) + lane <= m, high, at + int64(n), float32(_NEVER)))
        for step in range(5):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 1 << step))
        for n in range(0, m + int32(1), 32):
            ok = int32(n) + lane <= m
            scaled = load_if(ok, total, at + int64(n), float32(0.0))
            best = max(best, scaled * exp2(load_if(ok, high, at + int64(n), top) - top))
        for step in range(5):
            best = max(best, cuda.shfl_xor_sync(0xFFFFFFFF, best, 1 << step))
        found = int32(0)
        for n in range(0, m + int32(1), 32):
            block = int32(n) + lane
            ok = block <= m
            scaled = load_if(ok, total, at + int64(n), float32(0.0))
            scaled = scaled * exp2(load_if(ok, high, at + int64(n), top) - top)
            always = (block < sink) | (m - block < window) | (m >= blocks - last)
            keep = ok & (always | (scaled >= alpha * best))
            votes = uint32(cuda.ballot_sync(0xFFFFFFFF, keep))
            before = int32(cuda.popc(uint32(votes & uint32((uint32(1) << uint32(lane)) - uint32(1)))))
            store_if(keep, chosen, row * int64(blocks) + int64(found + before), block)
            found += int32(cuda.popc(votes))
        store_if(lane == int32(0), counts, row, found)

    parameters = ("f32*", "f32*", "i32*", "i32*", "f32", "i32", "i32", "i32")
    return Kernel("choose_blocks", body, parameters, 32)
