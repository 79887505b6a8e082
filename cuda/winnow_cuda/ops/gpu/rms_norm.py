"""`rms_norm` on the device: float32 rows in, float16 rows out, ready for the next product. One warp takes a row."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, int32, int64, uint32, uint64

from winnow_cuda.compiler.intrinsics import (
    float_of,
    global_address,
    load_4,
    pack_half,
    reciprocal_sqrt,
    store_2_if,
    warp_sum,
)
from winnow_cuda.compiler.kernel import Kernel

ROWS = 8  # per block


@cache
def rms_norm(width: int) -> Kernel:
    """Parameters: x float32 [T, width], weight float32 [width], out float16 [T, width], T, eps.

    Grid: (ceil(T / ROWS), 1). width must be a multiple of 4; a row stays in registers between the sum and the scaling.
    """
    pieces = -(-width // 128)
    held = 4 * pieces

    def body(x: Any, weight: Any, out: Any, T: Any, eps: Any) -> None:
        lane, warp = int32(cuda.threadIdx.x) & int32(31), int32(cuda.threadIdx.x) >> int32(5)
        row = int32(cuda.blockIdx.x) * int32(ROWS) + warp
        start = int64(min(row, T - int32(1))) * int64(width)
        row_at, scale_at = uint64(global_address(x) + uint64(start * int64(4))), global_address(weight)
        values, scales, packed = (
            cuda.local.array(held, uint32),
            cuda.local.array(4, uint32),
            cuda.local.array(2, uint32),
        )
        for p in range(pieces):
            column = min(lane * int32(4) + int32(128 * p), int32(width - 4))
            load_4(values, 4 * p, uint64(row_at + uint64(column << int32(2))))
        square = float32(0.0)
        for p in range(pieces):
            part = float32(0.0)
            for i in range(4):
                part += float_of(values[4 * p + i]) * float_of(values[4 * p + i])
            square += cuda.selp(lane * int32(4) + int32(128 * p) < int32(width), part, float32(0.0))
        scale = reciprocal_sqrt(warp_sum(square, 32) * float32(1.0 / width) + eps)
        for p in range(pieces):
            column = min(lane * int32(4) + int32(128 * p), int32(width - 4))
            load_4(scales, 0, uint64(scale_at + uint64(column << int32(2))))
            for i in range(2):
                low = float_of(values[4 * p + 2 * i]) * scale * float_of(scales[2 * i])
                high = float_of(values[4 * p + 2 * i + 1]) * scale * float_of(scales[2 * i + 1])
                packed[i] = pack_half(low, high)
            to = uint64(global_address(out) + uint64((start + int64(column)) * int64(2)))
            store_2_if((row < T) & (lane * int32(4) + int32(128 * p) < int32(width)), to, packed, 0)

    return Kernel("rms_norm", body, ("f32*", "f32*", "u16*", "i32", "f32"), 32 * ROWS, constants=(width,))
