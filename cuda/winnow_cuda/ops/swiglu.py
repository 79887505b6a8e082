"""SwiGLU (Shazeer 2020, eq. 6): silu(gate) · up, with gate and up side by side as one product leaves them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from winnow_cuda.ops._exp import exp_nonpositive
from winnow_cuda.shapes import Float32


@njit(fastmath=True, inline="always")  # type: ignore[untyped-decorator]
def gated(gate: Any, up: Any) -> Any:
    """silu(gate) · up of two float32."""
    one = np.float32(1.0)
    e = exp_nonpositive(-abs(gate))
    numerator = one if gate >= 0 else e
    return gate * up * numerator / (one + e)


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _swiglu(gate_up: Float32, out: Float32) -> None:
    rows, width = out.shape
    for r in range(rows):
        for c in range(width):
            out[r, c] = gated(gate_up[r, c], gate_up[r, c + width])


def swiglu(gate_up: Float32) -> Float32:
    """gate_up float32 [T, 2F] → float32 [T, F]."""
    out = np.empty((gate_up.shape[0], gate_up.shape[1] // 2), np.float32)
    _swiglu(gate_up, out)
    return out


def swiglu_numpy(gate_up: Float32) -> Float32:
    """The twin of `swiglu`."""
    gate, up = np.split(gate_up.astype(np.float64), 2, axis=1)
    result: Float32 = (gate / (1.0 + np.exp(-gate)) * up).astype(np.float32)
    return result
