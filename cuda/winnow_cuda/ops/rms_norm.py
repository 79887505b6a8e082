"""RMSNorm (Zhang and Sennrich 2019, eq. 4): y = x / sqrt(mean(x²) + eps) · weight, by row."""

from __future__ import annotations

import numpy as np
from numba import njit

from winnow_cuda.shapes import Float32


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
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
    """Normalise rows: x float32 [..., width] (contiguous), weight float32 [width] → float32, x's shape."""
    rows = x.reshape(-1, x.shape[-1])
    out = np.empty_like(rows)
    _rms_norm(rows, weight, eps, out)
    return out.reshape(x.shape)


def rms_norm_numpy(x: Float32, weight: Float32, eps: float) -> Float32:
    """The twin of `rms_norm`."""
    wide = x.astype(np.float64)
    scale = 1.0 / np.sqrt((wide * wide).mean(-1, keepdims=True) + eps)
    return np.asarray(wide * scale * weight, np.float32)
