"""`elementwise` on the device: embedding, rms_norm, standardise and rope.

All but `rope` give a warp a row. `rope` takes the projections' bias and QK-norm along, in place on packed q, k, v; a
thread holds 8 columns of a head, 4 of its first half and 4 of its second, which are whole pairs in both layouts.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, int32, int64, uint32, uint64

from winnow_cuda.compiler.intrinsics import (
    bits_of,
    float_of,
    global_address,
    high_half,
    load_2,
    load_4,
    load_if,
    low_half,
    pack_half,
    reciprocal_sqrt,
    store_2_if,
    store_4_if,
    warp_sum,
)
from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.ops.elementwise import EPS

ROWS = 8  # per block
THREADS = 256  # of `rope`


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


@cache
def rms_norm(width: int) -> Kernel:
    """Parameters: x float32 [T, width], weight float32 [width], out float16 [T, width], T, eps.

    Grid: (ceil(T / ROWS), 1). width must be a multiple of 4; a row stays in registers between the sum and the scaling.
    """

    def body(x: Any, weight: Any, out: Any, T: Any, eps: Any) -> None:
        normalise(x, weight, weight, out, T, eps)

    normalise = _normalised(width, False)
    return Kernel("rms_norm", body, ("f32*", "f32*", "u16*", "i32", "f32"), 32 * ROWS, constants=(width,))


@cache
def standardise(width: int) -> Kernel:
    """Parameters: x float32 [T, width], mean float32 [width], inverse float32 [width] (1 / deviation), out float16
    [T, width], T. Grid: (ceil(T / ROWS), 1). width must be a multiple of 4.
    """

    def body(x: Any, mean: Any, inverse: Any, out: Any, T: Any) -> None:
        normalise(x, mean, inverse, out, T, float32(EPS))

    normalise = _normalised(width, True)
    return Kernel("standardise", body, ("f32*", "f32*", "f32*", "u16*", "i32"), 32 * ROWS, constants=(width,))


def _normalised(width: int, centred: bool) -> Any:
    """A device function (x, mean, weight, out, T, eps): RMSNorm of a row by a warp, less the mean if `centred`."""
    pieces = -(-width // 128)
    held = 4 * pieces

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def normalise(x: Any, mean: Any, weight: Any, out: Any, T: Any, eps: Any) -> None:
        lane, warp = int32(cuda.threadIdx.x) & int32(31), int32(cuda.threadIdx.x) >> int32(5)
        row = int32(cuda.blockIdx.x) * int32(ROWS) + warp
        start = int64(min(row, T - int32(1))) * int64(width)
        row_at = uint64(global_address(x) + uint64(start * int64(4)))
        values, means = cuda.local.array(held, uint32), cuda.local.array(4, uint32)
        weights, packed = cuda.local.array(4, uint32), cuda.local.array(2, uint32)
        square = float32(0.0)
        for p in range(pieces):
            column = min(lane * int32(4) + int32(128 * p), int32(width - 4))
            load_4(values, 4 * p, uint64(row_at + uint64(column << int32(2))))
        for p in range(pieces):
            part = float32(0.0)
            for i in range(4):
                part += float_of(values[4 * p + i]) * float_of(values[4 * p + i])
            square += cuda.selp(lane * int32(4) + int32(128 * p) < int32(width), part, float32(0.0))
        scale = reciprocal_sqrt(warp_sum(square, 32) * float32(1.0 / width) + eps)
        for p in range(pieces):
            column = min(lane * int32(4) + int32(128 * p), int32(width - 4))
            load_4(weights, 0, uint64(global_address(weight) + uint64(column << int32(2))))
            if centred:
                load_4(means, 0, uint64(global_address(mean) + uint64(column << int32(2))))
            for i in range(4):
                seen = float_of(values[4 * p + i]) * scale
                if centred:
                    seen -= float_of(means[i])
                values[4 * p + i] = bits_of(seen * float_of(weights[i]))
            for i in range(2):
                packed[i] = pack_half(float_of(values[4 * p + 2 * i]), float_of(values[4 * p + 2 * i + 1]))
            to = uint64(global_address(out) + uint64((start + int64(column)) * int64(2)))
            store_2_if((row < T) & (lane * int32(4) + int32(128 * p) < int32(width)), to, packed, 0)

    return normalise


@cache
def rope(head_dim: int, interleaved: bool, biased: bool, normed: bool) -> Kernel:
    """Parameters: qkv float16 [T, (H + 2 KV) D] in place; positions int32 [T]; cos, sin float32 [P, D/2] by position;
    bias float32 [(H + 2 KV) D]; centre float32 [KV D]; q_norm, k_norm float32 [D]; tap_q float32 [T, H, D], tap_k
    [T, KV, D]; T, H, KV; tapped (0 or 1); eps. The taps get q and k before they are turned, where tapped.

    Where there is a bias, `centre` is taken off the turned keys: attention stays the same, because every score of a
    query moves by the same amount, and float16 keeps more of keys that the bias had pushed far out.

    Grid: (ceil(T · (H + 2 KV) · D / 8 / THREADS), 1).
    """
    lanes, half = head_dim // 8, head_dim // 2

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def turn(x: Any, cos: Any, sin: Any, at: Any, part: Any) -> None:
        for i in range(4):
            if interleaved:
                first, second = 2 * i, 2 * i + 1
                angle = at + part * int32(2) + int32(i % 2) + int32(i // 2 * (half // 2))
            else:
                first, second = i, i + 4
                angle = at + part * int32(4) + int32(i)
            a, b, c, s = x[first], x[second], cos[angle], sin[angle]
            x[first] = a * c - b * s
            x[second] = a * s + b * c

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def read(x: Any, address: Any) -> None:
        pairs = cuda.local.array(4, uint32)
        load_2(pairs, 0, address)
        load_2(pairs, 2, uint64(address + uint64(head_dim)))
        for i in range(4):
            x[2 * i] = low_half(pairs[i])
            x[2 * i + 1] = high_half(pairs[i])

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def write(ok: Any, x: Any, address: Any) -> None:
        pairs = cuda.local.array(4, uint32)
        for i in range(4):
            pairs[i] = pack_half(x[2 * i], x[2 * i + 1])
        store_2_if(ok, address, pairs, 0)
        store_2_if(ok, uint64(address + uint64(head_dim)), pairs, 2)

    @cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
    def write_tap(ok: Any, x: Any, address: Any) -> None:
        bits = cuda.local.array(8, uint32)
        for i in range(8):
            bits[i] = bits_of(x[i])
        store_4_if(ok, address, bits, 0)
        store_4_if(ok, uint64(address + uint64(2 * head_dim)), bits, 4)

    def body(
        qkv: Any, positions: Any, cos: Any, sin: Any, bias: Any, centre: Any, q_norm: Any, k_norm: Any,
        tap_q: Any, tap_k: Any, T: Any, H: Any, KV: Any, tapped: Any, eps: Any,
    ) -> None:  # fmt: skip
        thread = int64(cuda.blockIdx.x) * int64(THREADS) + int64(cuda.threadIdx.x)
        part, item = int32(thread % int64(lanes)), int32(thread // int64(lanes))
        heads = H + KV * int32(2)
        inside = item < T * heads
        item = min(item, T * heads - int32(1))
        token, head = item // heads, item % heads
        is_q, is_k = head < H, (head >= H) & (head < H + KV)
        at = uint64(global_address(qkv) + uint64(int64(item) * int64(2 * head_dim) + int64(part << int32(3))))
        x = cuda.local.array(8, float32)
        read(x, at)
        column = part << int32(2)
        if biased:
            for i in range(4):
                x[i] += bias[head * int32(head_dim) + column + int32(i)]
                x[i + 4] += bias[head * int32(head_dim) + column + int32(half + i)]
        if normed:
            square = float32(0.0)
            for i in range(8):
                square += x[i] * x[i]
            scale = reciprocal_sqrt(warp_sum(square, lanes) * float32(1.0 / head_dim) + eps)
            for i in range(8):
                c = column + int32(i % 4 + i // 4 * half)
                weight = cuda.selp(is_q, q_norm[c], k_norm[c])
                x[i] *= cuda.selp(is_q | is_k, scale * weight, float32(1.0))
        if tapped > int32(0):
            first = int64(token) * int64(H) + int64(head)
            to = uint64(global_address(tap_q) + uint64((first * int64(head_dim) + int64(column)) * int64(4)))
            write_tap(inside & is_q, x, to)
            first = int64(token) * int64(KV) + int64(head - H)
            to = uint64(global_address(tap_k) + uint64((first * int64(head_dim) + int64(column)) * int64(4)))
            write_tap(inside & is_k, x, to)
        turned = cuda.local.array(8, float32)
        for i in range(8):
            turned[i] = x[i]
        turn(turned, cos, sin, positions[token] * int32(half), part)
        for i in range(8):
            x[i] = cuda.selp(is_q | is_k, turned[i], x[i])
        if biased:
            for i in range(8):
                c = column + int32(i % 4 + i // 4 * half)
                at_centre = max(head - H, int32(0)) * int32(head_dim) + c
                x[i] -= load_if(is_k, centre, at_centre, float32(0.0))
        write(inside, x, at)

    parameters = ("u16*", "i32*", *["f32*"] * 8, *["i32"] * 4, "f32")
    return Kernel("rope", body, parameters, THREADS, constants=(head_dim, interleaved, biased, normed))
