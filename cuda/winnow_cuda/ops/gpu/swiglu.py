"""`swiglu` on the device, for products that cuBLAS left unactivated: 8 columns of gate, 8 of up in turn, float16."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, int32, int64, uint32, uint64

from winnow_cuda.compiler.intrinsics import exp2, global_address, high_half, load_4, low_half, pack_half, store_4_if
from winnow_cuda.compiler.kernel import Kernel

THREADS = 256
_LOG2E = 1.4426950408889634


@cuda.jit(device=True, inline="always")  # type: ignore[untyped-decorator]
def silu_times(gate: Any, up: Any) -> Any:
    """silu(gate) · up in float32."""
    return gate * up / (float32(1.0) + exp2(gate * float32(-_LOG2E)))


@cache
def swiglu() -> Kernel:
    """Parameters: gate_up float16 [T, 2F] interleaved by 8, out float16 [T, F], T · F / 8. A thread makes 8 columns.

    Grid: (ceil(T · F / 8 / THREADS), 1).
    """

    def body(gate_up: Any, out: Any, count: Any) -> None:
        item = int32(cuda.blockIdx.x) * int32(THREADS) + int32(cuda.threadIdx.x)
        source = uint64(global_address(gate_up) + uint64(int64(min(item, count - int32(1))) * int64(32)))
        gate, up, made = cuda.local.array(4, uint32), cuda.local.array(4, uint32), cuda.local.array(4, uint32)
        load_4(gate, 0, source)
        load_4(up, 0, uint64(source + uint64(16)))
        for i in range(4):
            low = silu_times(low_half(gate[i]), low_half(up[i]))
            made[i] = pack_half(low, silu_times(high_half(gate[i]), high_half(up[i])))
        store_4_if(item < count, uint64(global_address(out) + uint64(int64(item) * int64(16))), made, 0)

    return Kernel("swiglu", body, ("u16*", "u16*", "i32"), THREADS)
