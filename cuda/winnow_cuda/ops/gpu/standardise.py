"""`standardise` on the device: float32 rows in, float16 rows out, for the product with a head. One warp takes a row."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, int32, int64, uint32, uint64

from winnow_cuda.compiler.intrinsics import (
    bits_of,
    float_of,
    global_address,
    load_4,
    pack_half,
    reciprocal_sqrt,
    store_2_if,
    warp_sum,
)
from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.ops.standardise import EPS

ROWS = 8  # per block


@cache
def standardise(width: int) -> Kernel:
    """Parameters: x float32 [T, width], mean float32 [width], inverse float32 [width] (1 / deviation), out float16
    [T, width], T. Grid: (ceil(T / ROWS), 1). width must be a multiple of 4.
    """
    pieces = -(-width // 128)
    held = 4 * pieces

    def body(x: Any, mean: Any, inverse: Any, out: Any, T: Any) -> None:
        lane, warp = int32(cuda.threadIdx.x) & int32(31), int32(cuda.threadIdx.x) >> int32(5)
        row = int32(cuda.blockIdx.x) * int32(ROWS) + warp
        start = int64(min(row, T - int32(1))) * int64(width)
        row_at = uint64(global_address(x) + uint64(start * int64(4)))
        values, means = cuda.local.array(held, uint32), cuda.local.array(4, uint32)
        inverses, packed = cuda.local.array(4, uint32), cuda.local.array(2, uint32)
        square = float32(0.0)
        for p in range(pieces):
            column = min(lane * int32(4) + int32(128 * p), int32(width - 4))
            load_4(values, 4 * p, uint64(row_at + uint64(column << int32(2))))
            part = float32(0.0)
            for i in range(4):
                part += float_of(values[4 * p + i]) * float_of(values[4 * p + i])
            square += cuda.selp(lane * int32(4) + int32(128 * p) < int32(width), part, float32(0.0))
        scale = reciprocal_sqrt(warp_sum(square, 32) * float32(1.0 / width) + float32(EPS))
        for p in range(pieces):
            column = min(lane * int32(4) + int32(128 * p), int32(width - 4))
            load_4(means, 0, uint64(global_address(mean) + uint64(column << int32(2))))
            load_4(inverses, 0, uint64(global_address(inverse) + uint64(column << int32(2))))
            for i in range(4):
                seen = float_of(values[4 * p + i]) * scale - float_of(means[i])
                values[4 * p + i] = bits_of(seen * float_of(inverses[i]))
            for i in range(2):
                packed[i] = pack_half(float_of(values[4 * p + 2 * i]), float_of(values[4 * p + 2 * i + 1]))
            to = uint64(global_address(out) + uint64((start + int64(column)) * int64(2)))
            store_2_if((row < T) & (lane * int32(4) + int32(128 * p) < int32(width)), to, packed, 0)

    return Kernel("standardise", body, ("f32*", "f32*", "f32*", "u16*", "i32"), 32 * ROWS, constants=(width,))
