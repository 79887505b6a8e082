"""Causal attention over packed sequences behind a shared prefix, on any tensor core since sm_80.

A block of threads takes ROWS query rows of one head and walks over tiles of KEYS keys with an online softmax
(FlashAttention-2, Dao 2023, alg. 1). Keys are numbered through the prefix and on through the sequence, so
a prefix costs its length, not a tile of its own. Row i of a sequence sees keys 0 … prefix + i.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32, int32, int64, uint16, uint32, uint64

from winnow_cuda.compiler.intrinsics import (
    cp_async_16,
    cp_async_commit,
    cp_async_wait_0,
    cp_async_wait_1,
    exp2,
    global_address,
    ldmatrix_x4,
    ldmatrix_x4_trans,
    mma_half,
    pack_half,
    quotient,
    shared_address,
    store_if,
)
from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.shapes import Int32, Int64

ROWS = 128  # query rows a block of threads
KEYS = 64  # keys a tile
NEVER = -1e30
_ROW = 128  # bytes: 64 columns; wider heads are stored as several such parts, one after another

PARAMETERS = (  # strides are in elements
    "u16*", "u16*", "u16*", "u32*",  # q, k, v, out
    "u16*", "u16*", "i32",  # the prefix's k and v, and its rows
    "i32*",  # tiles
    "i32", "i32", "i32", "f32",  # row strides of q, k, v and of out; query heads per KV head; scale · log2 e
)  # fmt: skip


def query_tiles(offsets: Int64) -> Int32:
    """The ROWS-row tiles of packed sequences, int32 [tiles, 4]: first row, and the sequence's start and stop; longest
    first, because a launch ends with its last block."""
    found = [
        (row, start, stop, 0)
        for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        for row in range(start, stop, ROWS)
    ]
    tiles = np.array(found, np.int32).reshape(-1, 4)
    return tiles[np.argsort(tiles[:, 1] - tiles[:, 0], kind="stable")]


def scale_log2(head_dim: int) -> float:
    """The factor that makes 2^(q·k · factor) the softmax's exponential."""
    return math.log2(math.e) / math.sqrt(head_dim)


def key_copier(keys: int, head_dim: int, threads: int) -> Any:
    """A device function that starts copying keys (or values) first … first + keys - 1 into swizzled shared memory.

    (destination, own, prefix, first, prefix rows, limit, stride): own and prefix are addresses of the head's column
    in key row `prefix rows`, and in row 0; keys from `limit` on become zeros; stride is bytes per row.
    """
    step, halves = threads // 8, head_dim // 64

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def copy(to: Any, own: Any, prefix: Any, first: Any, shared_rows: Any, limit: Any, stride: Any) -> None:
        row, chunk = int32(cuda.threadIdx.x) >> int32(3), int32(cuda.threadIdx.x) & int32(7)
        at = uint32(to + uint32(row * int32(_ROW) + ((chunk ^ (row & int32(7))) << int32(4))))
        for i in range(keys // step):
            key = first + row + int32(i * step)
            behind = key >= shared_rows
            origin = cuda.selp(behind, own, prefix)
            index = cuda.selp(behind, key - shared_rows, key)
            source = uint64(origin + uint64(int64(index) * int64(stride)) + uint64(chunk << int32(4)))
            size = cuda.selp(key < limit, int32(16), int32(0))
            for h in range(halves):
                cp_async_16(
                    uint32(at + uint32(h * keys * _ROW + i * step * _ROW)), uint64(source + uint64(h * _ROW)), size
                )

    return copy


def softmax(m_tiles: int, key_tiles: int, column_tiles: int) -> Any:
    """Device functions (hide, soften, store) for a warp that holds m_tiles · 16 rows: scores in s, sums in o."""

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def hide(s: Any, first: Any, visible: Any, lane: Any) -> None:
        """Row r of the warp's sees keys below visible + r, and no others."""
        for m in range(m_tiles):
            seen = visible + int32(16 * m) + (lane >> int32(2))
            for n in range(key_tiles):
                key = first + int32(8 * n) + ((lane & int32(3)) << int32(1))
                for i in range(4):
                    at = (m * key_tiles + n) * 4 + i
                    s[at] = cuda.selp(key + int32(i % 2) < seen + int32(i // 2 * 8), s[at], float32(NEVER))

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def soften(s: Any, o: Any, high: Any, total: Any, scale: Any) -> None:
        """Online softmax: s becomes exponentials, o and total are rescaled to the new row maxima."""
        for m in range(m_tiles):
            for half in range(2):
                r = 2 * m + half
                top = high[r]
                for n in range(key_tiles):
                    at = (m * key_tiles + n) * 4 + 2 * half
                    top = max(top, max(s[at], s[at + 1]))
                top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 1))
                top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 2))
                shrink = exp2((high[r] - top) * scale)
                high[r] = top
                shift = top * scale
                part = float32(0.0)
                for n in range(key_tiles):
                    at = (m * key_tiles + n) * 4 + 2 * half
                    s[at] = exp2(s[at] * scale - shift)
                    s[at + 1] = exp2(s[at + 1] * scale - shift)
                    part += s[at] + s[at + 1]
                total[r] = total[r] * shrink + part
                for n in range(column_tiles):
                    at = (m * column_tiles + n) * 4 + 2 * half
                    o[at] *= shrink
                    o[at + 1] *= shrink

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def store(
        out: Any, o: Any, total: Any, row: Any, local: Any, rows: Any, column: Any, stride: Any, lane: Any
    ) -> None:
        """Rows row + local … of the warp, below row + rows, divided by their totals, to columns column …"""
        for m in range(m_tiles):
            for half in range(2):
                r = 2 * m + half
                whole = total[r] + cuda.shfl_xor_sync(0xFFFFFFFF, total[r], 1)
                whole += cuda.shfl_xor_sync(0xFFFFFFFF, whole, 2)
                inverse = float32(1.0) / whole
                here = local + int32(16 * m + 8 * half) + (lane >> int32(2))
                for n in range(column_tiles):
                    at = (m * column_tiles + n) * 4 + 2 * half
                    c = column + int32(8 * n) + ((lane & int32(3)) << int32(1))
                    to = (int64(row + here) * int64(stride) + int64(c)) >> int64(1)
                    store_if(here < rows, out, to, pack_half(o[at] * inverse, o[at + 1] * inverse))

    return hide, soften, store


@cache
def attention(head_dim: int) -> Kernel:
    """Parameters as PARAMETERS names them; `out` as uint32 pairs, [T, out stride]. Grid: (tiles, heads). head_dim is
    64 or 128.
    """
    m_tiles = 2 if head_dim == 64 else 1
    threads = ROWS // (16 * m_tiles) * 32
    k_steps, key_tiles, column_tiles = head_dim // 16, KEYS // 8, head_dim // 8
    q_held, p_held, rows_held = m_tiles * k_steps * 4, m_tiles * 4, m_tiles * 2
    s_held, o_held = m_tiles * key_tiles * 4, m_tiles * column_tiles * 4
    half_bytes, tile_bytes, log2_keys = KEYS * _ROW, KEYS * head_dim * 2, KEYS.bit_length() - 1
    copy_queries, copy_keys = key_copier(ROWS, head_dim, threads), key_copier(KEYS, head_dim, threads)
    hide, soften, store = softmax(m_tiles, key_tiles, column_tiles)

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def load_queries(q: Any, smem: Any, lane: Any, warp: Any) -> None:
        for m in range(m_tiles):
            row = warp * int32(16 * m_tiles) + int32(16 * m) + (lane & int32(15))
            for k in range(k_steps):
                chunk = ((int32(2 * (k % 4)) + (lane >> int32(4))) ^ (lane & int32(7))) << int32(4)
                half = k // 4 * ROWS * _ROW
                ldmatrix_x4(q, (m * k_steps + k) * 4, uint32(smem + uint32(row * int32(_ROW) + chunk + int32(half))))

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def scores(s: Any, q: Any, b: Any, keys_at: Any, lane: Any) -> None:
        for i in range(s_held):
            s[i] = float32(0.0)
        row = ((lane & int32(7)) + ((lane >> int32(4)) << int32(3))) * int32(_ROW)
        for k in range(k_steps):
            chunk = ((int32(2 * (k % 4)) + ((lane >> int32(3)) & int32(1))) ^ (lane & int32(7))) << int32(4)
            for n in range(key_tiles // 2):
                at = row + chunk + int32(n * 16 * _ROW + k // 4 * half_bytes)
                ldmatrix_x4(b, 0, uint32(keys_at + uint32(at)))
                for m in range(m_tiles):
                    mma_half(s, (m * key_tiles + 2 * n) * 4, q, (m * k_steps + k) * 4, b[0], b[1])
                    mma_half(s, (m * key_tiles + 2 * n + 1) * 4, q, (m * k_steps + k) * 4, b[2], b[3])

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def mix(o: Any, s: Any, p: Any, b: Any, values_at: Any, lane: Any) -> None:
        row = (lane & int32(15)) * int32(_ROW)
        for k in range(KEYS // 16):
            for m in range(m_tiles):
                at = (m * key_tiles + 2 * k) * 4
                for i in range(4):
                    p[4 * m + i] = pack_half(s[at + 2 * i], s[at + 2 * i + 1])
            for n in range(column_tiles // 2):
                chunk = ((int32(2 * (n % 4)) + (lane >> int32(4))) ^ (lane & int32(7))) << int32(4)
                at = row + chunk + int32(k * 16 * _ROW + n // 4 * half_bytes)
                ldmatrix_x4_trans(b, 0, uint32(values_at + uint32(at)))
                for m in range(m_tiles):
                    mma_half(o, (m * column_tiles + 2 * n) * 4, p, 4 * m, b[0], b[1])
                    mma_half(o, (m * column_tiles + 2 * n + 1) * 4, p, 4 * m, b[2], b[3])

    def body(
        Q: Any, K: Any, V: Any, out: Any, PK: Any, PV: Any, prefix: Any, tiles: Any, stride: Any, out_stride: Any,
        group: Any, scale: Any,
    ) -> None:  # fmt: skip
        smem = shared_address(cuda.shared.array(0, uint16))
        lane, warp = int32(cuda.threadIdx.x) & int32(31), int32(cuda.threadIdx.x) >> int32(5)
        tile, head = int32(cuda.blockIdx.x), int32(cuda.blockIdx.y)
        row, start, stop = tiles[tile * int32(4)], tiles[tile * int32(4) + int32(1)], tiles[tile * int32(4) + int32(2)]
        rows = min(stop - row, int32(ROWS))
        step, zero = int64(stride) * int64(2), int32(0)
        column = uint64(head * int32(2 * head_dim))
        kv_column = uint64(quotient(head, group) * int32(2 * head_dim))
        from_q = uint64(global_address(Q) + column + uint64(int64(row) * step))
        from_k = uint64(global_address(K) + kv_column + uint64(int64(start) * step))
        from_v = uint64(global_address(V) + kv_column + uint64(int64(start) * step))
        shared_k, shared_v = uint64(global_address(PK) + kv_column), uint64(global_address(PV) + kv_column)
        copy_queries(smem, from_q, from_q, zero, zero, rows, step)
        cp_async_commit()
        cp_async_wait_0()
        cuda.syncthreads()
        q, s, o = cuda.local.array(q_held, uint32), cuda.local.array(s_held, float32), cuda.local.array(o_held, float32)
        high, total = cuda.local.array(rows_held, float32), cuda.local.array(rows_held, float32)
        b, p = cuda.local.array(4, uint32), cuda.local.array(p_held, uint32)
        load_queries(q, smem, lane, warp)
        cuda.syncthreads()
        for i in range(o_held):
            o[i] = float32(0.0)
        for i in range(rows_held):
            high[i] = float32(NEVER)
            total[i] = float32(0.0)
        visible = prefix + row - start  # row r of the tile sees keys 0 … visible + r
        limit = visible + rows
        count = int32(limit + int32(KEYS - 1)) >> int32(log2_keys)
        first = int64(0)
        copy_keys(smem, from_k, shared_k, first, prefix, limit, step)
        copy_keys(uint32(smem + uint32(tile_bytes)), from_v, shared_v, first, prefix, limit, step)
        cp_async_commit()
        for i in range(count):
            here = uint32(smem + uint32((int32(i) & int32(1)) * int32(2 * tile_bytes)))
            now = first
            if int32(i) + int32(1) < count:
                there = uint32(smem + uint32((int32(i + 1) & int32(1)) * int32(2 * tile_bytes)))
                first = int32(i + 1) * int32(KEYS)
                copy_keys(there, from_k, shared_k, first, prefix, limit, step)
                copy_keys(uint32(there + uint32(tile_bytes)), from_v, shared_v, first, prefix, limit, step)
            cp_async_commit()
            cp_async_wait_1()
            cuda.syncthreads()
            scores(s, q, b, here, lane)
            if now + int32(KEYS) > visible:
                hide(s, now, visible + int32(1) + warp * int32(16 * m_tiles), lane)
            soften(s, o, high, total, scale)
            mix(o, s, p, b, uint32(here + uint32(tile_bytes)), lane)
            cuda.syncthreads()
        local = warp * int32(16 * m_tiles)
        store(out, o, total, row, local, rows, head * int32(head_dim), out_stride, lane)

    return Kernel("segment_attention", body, PARAMETERS, threads, shared_bytes=4 * tile_bytes, constants=(head_dim,))
