"""A float32 exponential that LLVM can vectorise, for the inner loops of softmax and SwiGLU.

Numba's `math.exp` is a scalar library call, which keeps the loop around it scalar too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import float32, int32, uint16
from numba.extending import intrinsic

from winnow_cuda.ops._cache import compiled

_LOG2E = np.float32(1.4426950408889634)
_LOWEST = np.float32(-87.0)
# Taylor coefficients of 2^f, f in [-0.5, 0.5], from the sixth power down; relative error below 2e-7.
_C = tuple(np.float32(c) for c in (1.5403530e-4, 1.3333558e-3, 9.6181291e-3, 5.5504109e-2, 2.4022651e-1, 6.9314718e-1))
_C0, _C1, _C2, _C3, _C4, _C5 = _C


@intrinsic  # type: ignore[untyped-decorator]
def truncated(typingctx: Any, x: Any) -> Any:
    """float32 → int32, towards zero. Numba's own conversion goes through 64 bits, which halves the vector."""
    return int32(float32), lambda _, builder, __, args: builder.fptosi(args[0], ir.IntType(32))


@intrinsic  # type: ignore[untyped-decorator]
def _power_of_two(typingctx: Any, n: Any) -> Any:
    """2^n as float32 for n in [-126, 127], by writing n into the exponent bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i32 = ir.IntType(32)
        exponent = builder.shl(builder.add(args[0], i32(127)), i32(23))
        return builder.bitcast(exponent, ir.FloatType())

    return float32(int32), codegen


@intrinsic  # type: ignore[untyped-decorator]
def larger(typingctx: Any, x: Any, y: Any) -> Any:
    """The larger one of two float32. For `max` Numba compiles a function of its own in each that calls it."""
    kinds = float32(float32, float32)
    return kinds, lambda _, builder, __, args: builder.select(builder.fcmp_ordered(">", *args), *args)


@intrinsic  # type: ignore[untyped-decorator]
def from_half(typingctx: Any, bits: Any) -> Any:
    """The float32 of a float16's bits. At their places in a float32 they are it times 2^-112, if subnormal too."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i32 = ir.IntType(32)
        moved = builder.and_(builder.shl(builder.sext(args[0], i32), i32(13)), i32(-0x70002000))
        return builder.fmul(builder.bitcast(moved, ir.FloatType()), ir.Constant(ir.FloatType(), 2.0**112))

    return float32(uint16), codegen


@compiled(fastmath=True, inline="always")
def exp_nonpositive(x: Any) -> Any:
    """e^x for x ≤ 0 in float32; values below -87 give e^-87 (about 1.6e-38)."""
    t = larger(x, _LOWEST) * _LOG2E
    n = truncated(t - np.float32(0.5))
    f = t - np.float32(n)
    p = ((((_C0 * f + _C1) * f + _C2) * f + _C3) * f + _C4) * f + _C5
    return (p * f + np.float32(1.0)) * _power_of_two(n)
