"""`pool_runs` on the device: products of 256 columns and a logit in, a vector per run out. One warp takes a run."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, int32, int64, uint32, uint64

from winnow_cuda.compiler.intrinsics import (
    bits_of,
    exp2,
    float_of,
    global_address,
    load_4,
    log2,
    reciprocal_sqrt,
    store_4_if,
    warp_sum,
)
from winnow_cuda.compiler.kernel import Kernel

COLUMNS = 256
MOST_ROWS = 128  # per run; longer runs are cut into parts, so that no warp works on alone
_LOG2E = 1.4426950408889634
_LN2 = 0.6931471805599453
_HELD = COLUMNS // 32


@cache
def pool_runs(stride: int) -> Kernel:
    """Parameters: y float32, rows `stride` apart (a multiple of 4) of 256 columns and, after them, the logit;
    runs int32 [R, 2] of rows start:stop; out float32 [R, 256]. Grid: (R, 1).
    """

    def body(y: Any, runs: Any, out: Any) -> None:
        lane, run = int32(cuda.threadIdx.x), int32(cuda.blockIdx.x)
        first, stop = runs[run * int32(2)], runs[run * int32(2) + int32(1)]
        values, sums = cuda.local.array(_HELD, uint32), cuda.local.array(_HELD, float32)
        bits = cuda.local.array(_HELD, uint32)
        for i in range(_HELD):
            sums[i] = float32(0.0)
        for row in range(first, stop):
            at = int64(row) * int64(stride)
            here = uint64(global_address(y) + uint64((at + int64(lane << int32(3))) * int64(4)))
            load_4(values, 0, here)
            load_4(values, 4, uint64(here + uint64(16)))
            square = float32(0.0)
            for i in range(_HELD):
                square += float_of(values[i]) * float_of(values[i])
            logit = y[at + int64(COLUMNS)]
            small = exp2(-max(logit, -logit) * float32(_LOG2E))
            weight = max(logit, float32(0.0)) + log2(float32(1.0) + small) * float32(_LN2)
            scale = weight * reciprocal_sqrt(max(warp_sum(square, 32), float32(1e-24)))
            for i in range(_HELD):
                sums[i] += scale * float_of(values[i])
        for i in range(_HELD):
            bits[i] = bits_of(sums[i])
        to = uint64(global_address(out) + uint64((int64(run) * int64(COLUMNS) + int64(lane << int32(3))) * int64(4)))
        store_4_if(lane < int32(32), to, bits, 0)
        store_4_if(lane < int32(32), uint64(to + uint64(16)), bits, 4)

    return Kernel("pool_runs", body, ("f32*", "i32*", "f32*"), 32, blocks_per_sm=16, constants=(stride,))
