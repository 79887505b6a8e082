"""Ops on one row at a time: RMSNorm, standardised hidden states, rotary positions and SwiGLU."""

from __future__ import annotations

from typing import Any

import numpy as np

from winnow_cuda.ops._cache import compiled
from winnow_cuda.ops._exp import exp_nonpositive
from winnow_cuda.shapes import Float32, Int32, TransformerShape


@compiled(fastmath=True)
def _rms_norm(x: Float32, weight: Float32, eps: float, out: Float32) -> None:
    rows, width = x.shape
    for r in range(rows):
        square = np.float32(0.0)
        for c in range(width):
            square += x[r, c] * x[r, c]
        scale = np.float32(1.0) / np.sqrt(square / np.float32(width) + np.float32(eps))
        for c in range(width):
            out[r, c] = x[r, c] * scale * weight[c]


def rms_norm(x: Float32, weight: Float32, eps: float) -> Float32:
    """RMSNorm, x / sqrt(mean(x²) + eps) · weight (Zhang and Sennrich 2019, eq. 4): x float32 [..., width] (contiguous),
    weight float32 [width] → float32, x's shape."""
    rows = x.reshape(-1, x.shape[-1])
    out = np.empty_like(rows)
    _rms_norm(rows, weight, eps, out)
    return out.reshape(x.shape)


EPS = 1e-6
_CENTRED = 2048  # positions


def standardise(x: Float32, mean: Float32, deviation: Float32) -> Float32:
    """Hidden states as a trained head sees them, (x / sqrt(mean(x²) + eps) − mean) / deviation: x float32 [T, width],
    mean and deviation float32 [width] → float32 [T, width]."""
    out = rms_norm(np.ascontiguousarray(x), np.ones_like(mean), EPS)
    out -= mean
    out /= deviation
    return out


def rope_table(positions: Int32, head_dim: int, base: float) -> tuple[Float32, Float32]:
    """Cosines and sines, float32 [T, head_dim/2], of positions int32 [T]."""
    inverse = 1.0 / base ** (np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    angle = positions.astype(np.float64)[:, None] * inverse
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


@compiled(fastmath=True)
def _rope(x: Float32, cos: Float32, sin: Float32, first: int, pair: int, out: Float32) -> None:
    tokens, heads, dim = x.shape
    for t in range(tokens):
        for h in range(heads):
            for i in range(dim // 2):
                a, b = x[t, h, i * first], x[t, h, i * first + pair]
                out[t, h, i * first] = a * cos[t, i] - b * sin[t, i]
                out[t, h, i * first + pair] = a * sin[t, i] + b * cos[t, i]


def rope(x: Float32, cos: Float32, sin: Float32, interleaved: bool) -> Float32:
    """Rotate x float32 [T, H, D] by the table of its T positions → float32 [T, H, D] (Su et al. 2021, §3.2.2).

    `interleaved` pairs columns (2i, 2i+1), as llama GGUFs store them; otherwise (i, i + D/2), as qwen2 and qwen3 do.
    """
    out = np.empty_like(x)
    if interleaved:
        _rope(x, cos, sin, 2, 1, out)
    else:
        _rope(x, cos, sin, 1, x.shape[2] // 2, out)
    return out


@compiled(fastmath=True, inline="always")
def gated(gate: Any, up: Any) -> Any:
    """silu(gate) · up of two float32."""
    one = np.float32(1.0)
    e = exp_nonpositive(-abs(gate))
    numerator = one if gate >= 0 else e
    return gate * up * numerator / (one + e)


@compiled(fastmath=True)
def _swiglu(gate_up: Float32, out: Float32) -> None:
    rows, width = out.shape
    for r in range(rows):
        for c in range(width):
            out[r, c] = gated(gate_up[r, c], gate_up[r, c + width])


def swiglu(gate_up: Float32) -> Float32:
    """silu(gate) · up (Shazeer 2020, eq. 6): gate_up float32 [T, 2F], side by side → float32 [T, F]."""
    out = np.empty((gate_up.shape[0], gate_up.shape[1] // 2), np.float32)
    _swiglu(gate_up, out)
    return out


def key_centre(bias: Float32, shape: TransformerShape) -> Float32:
    """The average push of the projections' bias on a segment's keys, float32 [kv_width].

    Attention stays the same if it is taken off all keys, and numbers of few bits keep more of what tells them apart: in
    Qwen2.5-Coder-0.5B's second layer it is 158 of 160.
    """
    part = bias[shape.q_width : shape.q_width + shape.kv_width].reshape(1, shape.kv_heads, shape.head_dim)
    table = rope_table(np.arange(_CENTRED, dtype=np.int32), shape.head_dim, shape.rope_base)
    turned = rope(part.repeat(_CENTRED, axis=0), *table, shape.rope_interleaved)
    return np.asarray(turned.mean(axis=0).reshape(-1), np.float32)
