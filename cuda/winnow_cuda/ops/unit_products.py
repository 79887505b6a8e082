"""The products of every unit's vector with one query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.shapes import Float32


def unit_products(vectors: NDArray[np.float16], query: Float32) -> Float32:
    """vectors float16 [U, D] · query float32 [D] → float32 [U]."""
    return np.asarray(vectors.astype(np.float32) @ query, np.float32)


def unit_products_numpy(vectors: NDArray[np.float16], query: Float32) -> Float32:
    """The twin of `unit_products`."""
    return np.asarray(vectors.astype(np.float64) @ query.astype(np.float64), np.float32)
