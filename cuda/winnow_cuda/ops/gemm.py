"""C = epilogue(A · Wᵀ), dense products; BLAS computes them on the CPU.

Epilogues:
- "half": C float16 [M, N];
- "add": C float32 [M, N] += A · Wᵀ, the residual connection;
- "swiglu": C float16 [M, N/2] = silu(gate) · up, where W's rows alternate: 8 of gate, 8 of up.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from winnow_cuda.ops.swiglu import swiglu_numpy
from winnow_cuda.shapes import Float32

Epilogue = Literal["half", "add", "swiglu"]
EPILOGUES: tuple[Epilogue, ...] = ("half", "add", "swiglu")


def interleave_gate_up(gate_up: Float32) -> Float32:
    """[2F, K] with gate above up → the same rows, 8 of gate and 8 of up in turn."""
    gate, up = np.split(gate_up, 2)
    pairs = np.stack([gate.reshape(-1, 8, gate.shape[1]), up.reshape(-1, 8, gate.shape[1])], axis=1)
    return np.ascontiguousarray(pairs.reshape(gate_up.shape))


def gemm_numpy(kind: Epilogue, a: Float32, w: Float32, c: Float32 | None) -> Float32:
    """The twin of `gemm`: float32 in and out, sums in float64. "swiglu" takes W as `interleave_gate_up` gives it."""
    product = a.astype(np.float64) @ w.T.astype(np.float64)
    if kind == "add":
        assert c is not None
        product += c
    if kind == "swiglu":
        pairs = product.reshape(len(a), -1, 2, 8)
        return swiglu_numpy(np.concatenate([pairs[:, :, i].reshape(len(a), -1) for i in range(2)], axis=1))
    return product.astype(np.float32)
