"""`readout` on the device: products of a head's columns in. A warp takes a run, 16 lanes a key."""

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
    nearest_int,
    reciprocal_sqrt,
    store_4_if,
    store_if,
    warp_sum,
)
from winnow_cuda.compiler.kernel import Kernel

UNIT_COLUMNS = 256
MOST_ROWS = 128  # per run; longer runs are cut into parts, so that no warp works on alone
_LOG2E = 1.4426950408889634
_LN2 = 0.6931471805599453
_HELD = UNIT_COLUMNS // 32


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
            logit = y[at + int64(UNIT_COLUMNS)]
            small = exp2(-max(logit, -logit) * float32(_LOG2E))
            weight = max(logit, float32(0.0)) + log2(float32(1.0) + small) * float32(_LN2)
            scale = weight * reciprocal_sqrt(max(warp_sum(square, 32), float32(1e-24)))
            for i in range(_HELD):
                sums[i] += scale * float_of(values[i])
        for i in range(_HELD):
            bits[i] = bits_of(sums[i])
        at = int64(run) * int64(UNIT_COLUMNS) + int64(lane << int32(3))
        to = uint64(global_address(out) + uint64(at * int64(4)))
        store_4_if(lane < int32(32), to, bits, 0)
        store_4_if(lane < int32(32), uint64(to + uint64(16)), bits, 4)

    return Kernel("pool_runs", body, ("f32*", "i32*", "f32*"), 32, blocks_per_sm=16, constants=(stride,))


KEY_COLUMNS = 64
ROWS = 16  # per block
_LANES = KEY_COLUMNS // 4
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
