"""`gemm`: C = epilogue(A · Wᵀ) in float16 with float32 sums, on any tensor core since sm_80 (`mma.sync`).

A tile of C is held in registers by 4 or 8 warps; tiles of A and W pass through a ring of shared-memory stages, filled
by `cp.async` two stages ahead. Rows of 128 bytes are swizzled (chunk c of row r lies at c ^ (r & 7)), so that both the
copies and `ldmatrix` use every bank once.

Epilogues:
- "half": C float16 [M, N];
- "add": C float32 [M, N] += A · Wᵀ, the residual connection;
- "swiglu": C float16 [M, N/2] = silu(gate) · up, where W's rows alternate: 8 of gate, 8 of up.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
from numba import cuda, float32, int32, int64, uint16, uint32, uint64

from winnow_cuda.compiler.intrinsics import (
    CP_ASYNC_WAIT,
    bits_of,
    cp_async_16,
    cp_async_commit,
    exp2,
    float_of,
    global_address,
    ldmatrix_x4,
    load_2,
    mma_half,
    pack_half,
    shared_address,
    store_2_if,
    store_if,
)
from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.shapes import Float32

Epilogue = Literal["half", "add", "swiglu"]
EPILOGUES: tuple[Epilogue, ...] = ("half", "add", "swiglu")

PARAMETERS = ("u16*", "u16*", "u32*", "i32", "i32", "i32")
DEPTH = 64  # columns of A and W a stage: one swizzled row of 128 bytes
_ROW = 128
_LOG2E = 1.4426950408889634
ROWS, COLUMNS = 128, 128  # of C a block
_WARP_ROWS, _WARP_COLUMNS = 64, 32  # of C a warp
_THREADS = ROWS // _WARP_ROWS * (COLUMNS // _WARP_COLUMNS) * 32
_STAGES, _STAGE_BYTES = 3, (ROWS + COLUMNS) * _ROW  # of shared memory, for A and W


def interleave_gate_up(gate_up: Float32) -> Float32:
    """[2F, K] with gate above up → the same rows, 8 of gate and 8 of up in turn."""
    gate, up = np.split(gate_up, 2)
    pairs = np.stack([gate.reshape(-1, 8, gate.shape[1]), up.reshape(-1, 8, gate.shape[1])], axis=1)
    return np.ascontiguousarray(pairs.reshape(gate_up.shape))


@cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
def _silu_times(gate: Any, up: Any) -> Any:
    """silu(gate) · up in float32."""
    return gate * up / (float32(1.0) + exp2(gate * float32(-_LOG2E)))


def epilogue_of(kind: Epilogue) -> Any:
    """A device function (c, row, column, M, N, acc, i) that stores two 8-column tiles acc[i:i + 8] of one row
    pair; row and column are those of acc[i]."""

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def plain(c: Any, row: Any, column: Any, m: Any, n: Any, acc: Any, i: Any) -> None:
        for tile in range(2):
            for half in range(2):
                r, col, j = row + int32(8 * half), column + int32(8 * tile), i + 4 * tile + 2 * half
                at = (int64(r) * int64(n) + int64(col)) >> int64(1)
                store_if((r < m) & (col < n), c, at, pack_half(acc[j], acc[j + 1]))

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def add(c: Any, row: Any, column: Any, m: Any, n: Any, acc: Any, i: Any) -> None:
        pair = cuda.local.array(8, uint32)
        for j in range(4):
            r, col = min(row + int32(8 * (j % 2)), m - int32(1)), min(column + int32(j // 2 * 8), n - int32(2))
            load_2(pair, 2 * j, uint64(global_address(c) + uint64((int64(r) * int64(n) + int64(col)) * int64(4))))
        for j in range(4):
            r, col = row + int32(8 * (j % 2)), column + int32(j // 2 * 8)
            for k in range(2):
                pair[2 * j + k] = bits_of(float_of(pair[2 * j + k]) + acc[i + 2 * j + k])
            to = uint64(global_address(c) + uint64((int64(r) * int64(n) + int64(col)) * int64(4)))
            store_2_if((r < m) & (col < n), to, pair, 2 * j)

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def swiglu(c: Any, row: Any, column: Any, m: Any, n: Any, acc: Any, i: Any) -> None:
        for half in range(2):
            r, j = row + int32(8 * half), i + 2 * half
            # column = 16 b + 2 t of the interleaved product is column 8 b + 2 t of its half.
            col = ((column >> int32(4)) << int32(3)) + (column & int32(7))
            at = (int64(r) * int64(n >> int32(1)) + int64(col)) >> int64(1)
            low, high = _silu_times(acc[j], acc[j + 4]), _silu_times(acc[j + 1], acc[j + 5])
            store_if((r < m) & (column < n), c, at, pack_half(low, high))

    return {"half": plain, "add": add, "swiglu": swiglu}[kind]


def copy_rows(rows: int, threads: int) -> Any:
    """A device function that starts copying a tile [rows, 64] of a float16 matrix into swizzled shared memory.

    (destination, source, first, limit, stride): `source` is the address of the tile's column in row 0, `first` the
    tile's first row, rows from `limit` on become zeros, `stride` is bytes per row.
    """
    step = threads // 8

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def copy(destination: Any, source: Any, first: Any, limit: Any, stride: Any) -> None:
        tid = int32(cuda.threadIdx.x)
        row, chunk = tid >> int32(3), tid & int32(7)
        to = uint32(destination + uint32(row * int32(_ROW) + ((chunk ^ (row & int32(7))) << int32(4))))
        origin = uint64(source + uint64(int64(first + row)) * stride + uint64(chunk << int32(4)))
        for i in range(rows // step):
            inside = cuda.selp(first + row + int32(i * step) < limit, int32(16), int32(0))
            cp_async_16(uint32(to + uint32(i * step * _ROW)), uint64(origin + uint64(i * step) * stride), inside)

    return copy


def stepper(stage_bytes: int) -> Any:
    """A device function (stage, first, end) → the address of the ring's next stage."""

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def following(stage: Any, first: Any, end: Any) -> Any:
        further = uint32(stage + uint32(stage_bytes))
        return cuda.selp(further == end, first, further)

    return following


@cache
def gemm(kind: Epilogue) -> Kernel:
    """Parameters: A float16 [M, K], W float16 [N, K], C, M, N, K.

    K must be a multiple of 64, N of 16. Grid: (ceil(N / COLUMNS), ceil(M / ROWS)).
    """
    warps_across = COLUMNS // _WARP_COLUMNS
    log2_across = warps_across.bit_length() - 1
    m_tiles, n_tiles = _WARP_ROWS // 16, _WARP_COLUMNS // 8
    sums, a_registers, b_registers = m_tiles * n_tiles * 4, m_tiles * 4, n_tiles * 2
    a_bytes, ahead = ROWS * _ROW, _STAGES - 1
    copy_a, copy_w, store = copy_rows(ROWS, _THREADS), copy_rows(COLUMNS, _THREADS), epilogue_of(kind)
    wait, next_stage = CP_ASYNC_WAIT[_STAGES - 2], stepper(_STAGE_BYTES)

    def body(A: Any, W: Any, C: Any, M: Any, N: Any, K: Any) -> None:
        smem = shared_address(cuda.shared.array(0, uint16))
        lane, warp = int32(cuda.threadIdx.x) & int32(31), int32(cuda.threadIdx.x) >> int32(5)
        first_n, first_m = int32(cuda.blockIdx.x) * int32(COLUMNS), int32(cuda.blockIdx.y) * int32(ROWS)
        stride = uint64(int64(K) * int64(2))
        from_a, from_w = global_address(A), global_address(W)
        steps = int32(K >> int32(6))
        for s in range(ahead):
            if s < steps:
                copy_a(uint32(smem + uint32(s * _STAGE_BYTES)), uint64(from_a + uint64(s * _ROW)), first_m, M, stride)
                into = uint32(smem + uint32(s * _STAGE_BYTES + a_bytes))
                copy_w(into, uint64(from_w + uint64(s * _ROW)), first_n, N, stride)
            cp_async_commit()
        acc = cuda.local.array(sums, float32)
        for i in range(sums):
            acc[i] = float32(0.0)
        a, b = cuda.local.array(a_registers, uint32), cuda.local.array(b_registers, uint32)
        at_m = (warp >> int32(log2_across)) * int32(_WARP_ROWS)
        at_n = (warp & int32(warps_across - 1)) * int32(_WARP_COLUMNS)
        swizzle = lane & int32(7)
        a_row, a_chunk = (at_m + (lane & int32(15))) * int32(_ROW), lane >> int32(4)
        b_row = (at_n + (lane & int32(7)) + ((lane >> int32(4)) << int32(3))) * int32(_ROW) + int32(a_bytes)
        b_chunk = (lane >> int32(3)) & int32(1)
        end = uint32(smem + uint32(_STAGES * _STAGE_BYTES))
        ready, filling = uint32(smem), uint32(smem + uint32(ahead * _STAGE_BYTES))
        for step in range(steps):
            wait()
            cuda.syncthreads()
            coming = int32(step) + int32(ahead)
            if coming < steps:
                along = uint64(int64(coming) * int64(_ROW))
                copy_a(filling, uint64(from_a + along), first_m, M, stride)
                copy_w(uint32(filling + uint32(a_bytes)), uint64(from_w + along), first_n, N, stride)
            cp_async_commit()
            for k in range(DEPTH // 16):
                for m in range(m_tiles):
                    chunk = ((int32(2 * k) + a_chunk) ^ swizzle) << int32(4)
                    ldmatrix_x4(a, 4 * m, uint32(ready + uint32(a_row + int32(m * 16 * _ROW) + chunk)))
                for n in range(n_tiles // 2):
                    chunk = ((int32(2 * k) + b_chunk) ^ swizzle) << int32(4)
                    ldmatrix_x4(b, 4 * n, uint32(ready + uint32(b_row + int32(n * 16 * _ROW) + chunk)))
                for m in range(m_tiles):
                    for n in range(n_tiles):
                        mma_half(acc, (m * n_tiles + n) * 4, a, 4 * m, b[2 * n], b[2 * n + 1])
            ready = next_stage(ready, smem, end)
            filling = next_stage(filling, smem, end)
        for m in range(m_tiles):
            row = first_m + at_m + int32(m * 16) + (lane >> int32(2))
            for n in range(n_tiles // 2):
                column = first_n + at_n + int32(n * 16) + ((lane & int32(3)) << int32(1))
                store(C, row, column, M, N, acc, (m * n_tiles + 2 * n) * 4)

    return Kernel(f"gemm_{kind}", body, PARAMETERS, _THREADS, 1, _STAGES * _STAGE_BYTES)
