"""SwiGLU (Shazeer 2020, eq. 6): silu(gate) · up, with gate and up side by side as one product leaves them."""

from __future__ import annotations

import numpy as np
from numba import njit

from winnow_cuda.ops._exp import exp_nonpositive
from winnow_cuda.shapes import Float32


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _swiglu(gate_up: Float32, out: Float32) -> None:
    rows, width = out.shape
    one = np.float32(1.0)
    for r in range(rows):
        for c in range(width):
            gate = gate_up[r, c]
            e = exp_nonpositive(-abs(gate))
            numerator = one if gate >= 0 else e
            out[r, c] = gate * gate_up[r, c + width] * numerator / (one + e)


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
