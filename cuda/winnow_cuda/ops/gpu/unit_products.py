"""`unit_products` on the device: a warp takes a vector."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, int32, int64, uint32, uint64

from winnow_cuda.compiler.intrinsics import float_of, global_address, high_half, load_4, low_half, store_if, warp_sum
from winnow_cuda.compiler.kernel import Kernel

UNITS = 8  # per block


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
