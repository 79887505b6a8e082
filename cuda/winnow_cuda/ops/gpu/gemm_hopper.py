"""`gemm` on Hopper's asynchronous tensor cores (`wgmma`, sm_90a only), with the same epilogues and parameters.

Each warpgroup of four warps holds 64 rows of the tile; A and W are read from swizzled shared memory by the tensor
cores themselves. With `overlap` a warpgroup lets its last product run while it waits for the next stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from numba import cuda, float32, int32, int64, uint16, uint32, uint64

from winnow_cuda.compiler.intrinsics import (
    CP_ASYNC_WAIT,
    cp_async_commit,
    fence_async_shared,
    global_address,
    shared_address,
    warpgroup_product,
    warpgroup_wait,
    wgmma_commit,
    wgmma_fence,
)
from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.ops.gpu.gemm import DEPTH, PARAMETERS, Epilogue, copy_rows, epilogue_of, stepper

_ROW = 128
_ATOM = 1024  # the swizzle repeats every 8 rows of 128 bytes; tiles start at multiples of it
# A matrix descriptor without its address: 128-byte swizzle, 1,024 bytes from one group of 8 rows to the next.
K_MAJOR = (1 << 62) | (_ATOM >> 4 << 32) | (1 << 16)


@dataclass(frozen=True, slots=True)
class HopperTile:
    """Rows (a multiple of 64, a power of two) and columns of C a block holds, its stages of shared memory, and how
    many blocks share a multiprocessor."""

    rows: int = 256
    columns: int = 128
    stages: int = 4
    blocks_per_sm: int = 1
    overlap: bool = True

    @property
    def threads(self) -> int:
        """128 for each 64 rows."""
        return self.rows // 64 * 128

    @property
    def stage_bytes(self) -> int:
        """One stage of A and W."""
        return (self.rows + self.columns) * _ROW


TALL = HopperTile()
NARROW = HopperTile(rows=128, stages=3, blocks_per_sm=2, overlap=False)


def hopper_tile_for(m: int) -> HopperTile:
    """The tile for a product of m rows: two small blocks a multiprocessor waste less where there are few."""
    return TALL if m >= 4096 else NARROW


@cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
def aligned(address: Any) -> Any:
    """The first shared address from `address` on at which a swizzled tile may start."""
    return uint32(uint32(address + uint32(_ATOM - 1)) & uint32(0xFFFFFFFF - _ATOM + 1))


@cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
def descriptor(address: Any, fixed: Any) -> Any:
    """The 64-bit matrix descriptor of a tile at a shared address."""
    return uint64(fixed) | uint64(uint32(address & uint32(0x3FFFF)) >> uint32(4))


@cache
def gemm_hopper(kind: Epilogue, tile: HopperTile) -> Kernel:
    """As `gemm`: A float16 [M, K], W float16 [N, K], C, M, N, K; K a multiple of 64, N of 16."""
    bm, bn, stages, stage_bytes = tile.rows, tile.columns, tile.stages, tile.stage_bytes
    a_bytes, sums, in_flight = bm * _ROW, bn // 2, int(tile.overlap)
    ahead = stages - 1 - in_flight
    copy_a, copy_w, store = copy_rows(bm, tile.threads), copy_rows(bn, tile.threads), epilogue_of(kind)
    copies_wait, product = CP_ASYNC_WAIT[ahead - 1], warpgroup_product(bn, False, False)
    next_stage = stepper(stage_bytes)
    products_wait, all_wait = warpgroup_wait(in_flight, sums), warpgroup_wait(0, sums)

    def body(A: Any, W: Any, C: Any, M: Any, N: Any, K: Any) -> None:
        smem = aligned(shared_address(cuda.shared.array(0, uint16)))
        tid = int32(cuda.threadIdx.x)
        lane, warp, group = tid & int32(31), (tid >> int32(5)) & int32(3), tid >> int32(7)
        first_n, first_m = int32(cuda.blockIdx.x) * int32(bn), int32(cuda.blockIdx.y) * int32(bm)
        stride = uint64(int64(K) * int64(2))
        from_a, from_w = global_address(A), global_address(W)
        steps = int32(K >> int32(6))
        for s in range(ahead):
            if s < steps:
                copy_a(uint32(smem + uint32(s * stage_bytes)), uint64(from_a + uint64(s * _ROW)), first_m, M, stride)
                into = uint32(smem + uint32(s * stage_bytes + a_bytes))
                copy_w(into, uint64(from_w + uint64(s * _ROW)), first_n, N, stride)
            cp_async_commit()
        acc = cuda.local.array(sums, float32)
        for i in range(sums):
            acc[i] = float32(0.0)
        end = uint32(smem + uint32(stages * stage_bytes))
        ready, filling = uint32(smem), uint32(smem + uint32(ahead * stage_bytes))
        for step in range(steps):
            copies_wait()
            fence_async_shared()
            cuda.syncthreads()
            a = descriptor(uint32(ready + uint32(group * int32(64 * _ROW))), K_MAJOR)
            w = descriptor(uint32(ready + uint32(a_bytes)), K_MAJOR)
            wgmma_fence()
            for k in range(DEPTH // 16):
                product(acc, 0, uint64(a + uint64(2 * k)), uint64(w + uint64(2 * k)), int32(1))
            wgmma_commit()
            coming = int32(step) + int32(ahead)
            if coming < steps:
                along = uint64(int64(coming) * int64(_ROW))
                copy_a(filling, uint64(from_a + along), first_m, M, stride)
                copy_w(uint32(filling + uint32(a_bytes)), uint64(from_w + along), first_n, N, stride)
            cp_async_commit()
            products_wait(acc, 0)
            ready = next_stage(ready, smem, end)
            filling = next_stage(filling, smem, end)
        all_wait(acc, 0)
        row = first_m + group * int32(64) + warp * int32(16) + (lane >> int32(2))
        for n in range(bn // 16):
            column = first_n + int32(n * 16) + ((lane & int32(3)) << int32(1))
            store(C, row, column, M, N, acc, 8 * n)

    shared = stages * stage_bytes + _ATOM
    name = f"gemm_hopper_{kind}"
    return Kernel(name, body, PARAMETERS, tile.threads, tile.blocks_per_sm, shared, "a", (tile,))
