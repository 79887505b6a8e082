"""`embedding` on the device: rows of a resident float16 table as float32 rows. One warp takes a row."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, int32, int64, uint32, uint64

from winnow_cuda.compiler.intrinsics import bits_of, global_address, high_half, load_4, low_half, store_4_if
from winnow_cuda.compiler.kernel import Kernel

ROWS = 8  # per block


@cache
def embedding(width: int) -> Kernel:
    """Parameters: ids int32 [T], table float16 [V, width], out float32 [T, width], T. Grid: (ceil(T / ROWS), 1).

    width must be a multiple of 8.
    """
    pieces = -(-width // 256)

    def body(ids: Any, table: Any, out: Any, T: Any) -> None:
        lane, warp = int32(cuda.threadIdx.x) & int32(31), int32(cuda.threadIdx.x) >> int32(5)
        row = int32(cuda.blockIdx.x) * int32(ROWS) + warp
        source = uint64(global_address(table) + uint64(int64(ids[min(row, T - int32(1))]) * int64(2 * width)))
        target = uint64(global_address(out) + uint64(int64(row) * int64(4 * width)))
        pairs, wide = cuda.local.array(4, uint32), cuda.local.array(8, uint32)
        for p in range(pieces):
            column = lane * int32(8) + int32(256 * p)
            load_4(pairs, 0, uint64(source + uint64(min(column, int32(width - 8)) << int32(1))))
            for i in range(4):
                wide[2 * i] = bits_of(low_half(pairs[i]))
                wide[2 * i + 1] = bits_of(high_half(pairs[i]))
            ok, to = (row < T) & (column < int32(width)), uint64(target + uint64(column << int32(2)))
            store_4_if(ok, to, wide, 0)
            store_4_if(ok, uint64(to + uint64(16)), wide, 4)

    return Kernel("embedding", body, ("i32*", "u16*", "f32*", "i32"), 32 * ROWS, constants=(width,))
