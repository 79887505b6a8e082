"""Rotary position embedding (Su et al. 2021, §3.2.2), in both layouts in use.

`interleaved` pairs columns (2i, 2i+1), as llama GGUFs store them; otherwise (i, i + D/2), as qwen2 and qwen3 do.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from winnow_cuda.shapes import Float32, Int32


def rope_table(positions: Int32, head_dim: int, base: float) -> tuple[Float32, Float32]:
    """Cosines and sines, float32 [T, head_dim/2], of positions int32 [T]."""
    inverse = 1.0 / base ** (np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    angle = positions.astype(np.float64)[:, None] * inverse
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _rope(x: Float32, cos: Float32, sin: Float32, first: int, pair: int, out: Float32) -> None:
    tokens, heads, dim = x.shape
    for t in range(tokens):
        for h in range(heads):
            for i in range(dim // 2):
                a, b = x[t, h, i * first], x[t, h, i * first + pair]
                out[t, h, i * first] = a * cos[t, i] - b * sin[t, i]
                out[t, h, i * first + pair] = a * sin[t, i] + b * cos[t, i]


def rope(x: Float32, cos: Float32, sin: Float32, interleaved: bool) -> Float32:
    """Rotate x float32 [T, H, D] by the table of its T positions → float32 [T, H, D]."""
    out = np.empty_like(x)
    if interleaved:
        _rope(x, cos, sin, 2, 1, out)
    else:
        _rope(x, cos, sin, 1, x.shape[2] // 2, out)
    return out


def rope_numpy(x: Float32, cos: Float32, sin: Float32, interleaved: bool) -> Float32:
    """The twin of `rope`."""
    half = x.shape[2] // 2
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    c, s = cos[:, None], sin[:, None]
    turned = a * c - b * s, a * s + b * c
    joined = np.stack(turned, -1).reshape(x.shape) if interleaved else np.concatenate(turned, -1)
    return np.ascontiguousarray(joined)
