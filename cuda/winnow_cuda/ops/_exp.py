"""A float32 exponential that LLVM can vectorise, for the inner loops of softmax and SwiGLU.

Numba's `math.exp` is a scalar library call, which keeps the loop around it scalar too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import float32, int32, njit
from numba.extending import intrinsic

_LOG2E = np.float32(1.4426950408889634)
_LOWEST = np.float32(-87.0)
# Taylor coefficients of 2^f, f in [-0.5, 0.5], from the sixth power down; relative error below 2e-7.
_C = tuple(np.float32(c) for c in (1.5403530e-4, 1.3333558e-3, 9.6181291e-3, 5.5504109e-2, 2.4022651e-1, 6.9314718e-1))
_C0, _C1, _C2, _C3, _C4, _C5 = _C


@intrinsic  # type: ignore[untyped-decorator]
def _bits_as_float32(typingctx: Any, bits: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.FloatType())

    return float32(int32), codegen


@njit(fastmath=True, inline="always")  # type: ignore[untyped-decorator]
def exp_nonpositive(x: Any) -> Any:
    """e^x for x ≤ 0 in float32; values below -87 give e^-87 (about 1.6e-38)."""
    t = max(x, _LOWEST) * _LOG2E
    n = np.int32(t - np.float32(0.5))
    f = t - np.float32(n)
    p = ((((_C0 * f + _C1) * f + _C2) * f + _C3) * f + _C4) * f + _C5
    return (p * f + np.float32(1.0)) * _bits_as_float32((n + np.int32(127)) << np.int32(23))
