"""`quantise_keys` on the device: products of 64 columns in, int8 codes and scales out. 16 lanes take a row."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, int32, int64, uint32, uint64

from winnow_cuda.compiler.intrinsics import (
    float_of,
    global_address,
    load_4,
    nearest_int,
    reciprocal_sqrt,
    store_if,
    warp_sum,
)
from winnow_cuda.compiler.kernel import Kernel

COLUMNS = 64
ROWS = 16  # per block
_LANES = COLUMNS // 4
_LEVELS = 127.0


@cache
def quantise_keys(stride: int) -> Kernel:
    """Parameters: x float32, rows of 64 columns `stride` apart (a multiple of 4); codes int8 [T, 64] as uint32 words;
    scales float32 [T]; T. Grid: (ceil(T / ROWS), 1).
    """

    def body(x: Any, codes: Any, scales: Any, T: Any) -> None:
        thread = int32(cuda.threadIdx.x)
        part = thread & int32(_LANES - 1)
        row = int32(cuda.blockIdx.x) * int32(ROWS) + (thread >> int32(4))
        at = int64(min(row, T - int32(1))) * int64(stride) + int64(part << int32(2))
        values = cuda.local.array(4, uint32)
        load_4(values, 0, uint64(global_address(x) + uint64(at * int64(4))))
        highest, square = float32(0.0), float32(0.0)
        for i in range(4):
            highest = max(highest, max(float_of(values[i]), -float_of(values[i])))
            square += float_of(values[i]) * float_of(values[i])
        for step in range(4):
            highest = max(highest, cuda.shfl_xor_sync(0xFFFFFFFF, highest, 1 << step))
        filled = highest > float32(0.0)
        inverse = cuda.selp(filled, float32(_LEVELS) / max(highest, float32(1e-30)), float32(0.0))
        word = uint32(0)
        for i in range(4):
            code = nearest_int(float_of(values[i]) * inverse)
            word = uint32(word | uint32(uint32(uint32(code) & uint32(255)) << uint32(8 * i)))
        store_if(row < T, codes, int64(row) * int64(_LANES) + int64(part), word)
        norm = reciprocal_sqrt(max(warp_sum(square, _LANES), float32(1e-30)))
        store_if((row < T) & (part == int32(0)), scales, int64(row), highest * norm * float32(1.0 / _LEVELS))

    return Kernel("quantise_keys", body, ("f32*", "u32*", "f32*", "i32"), _LANES * ROWS, constants=(stride,))
