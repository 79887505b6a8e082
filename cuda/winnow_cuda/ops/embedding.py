"""Rows of the token embedding; on the CPU an `EmbeddingTable` gives them."""

from __future__ import annotations

import numpy as np

from winnow_cuda.shapes import Float32, Int32


def embedding_numpy(ids: Int32, table: Float32) -> Float32:
    """The twin of `embedding`: rows of a float32 table whose values are float16."""
    return np.ascontiguousarray(table[ids])
