"""The products of every unit's vector with some queries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

from winnow_cuda.shapes import Float16, Float32

_FEW = 32_768  # units; 25 ms of BLAS
_UNITS_A_THREAD = 16_384  # 1 ms
_BIAS = np.float32(2.0**112)  # between the exponents of float16 and float32


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _products(bits: NDArray[np.uint16], queries: Float32, out: Float32) -> None:
    """The products of vectors, given as the bits of float16 [U, D], into out [N, U].

    Exponent and mantissa, moved to their places in a float32, are the value times 2^-112, also of a subnormal.
    """
    shifted = np.empty(bits.shape[1], np.int32)
    row = shifted.view(np.float32)
    for unit in range(bits.shape[0]):
        for column in range(bits.shape[1]):
            half = np.int32(bits[unit, column])
            shifted[column] = (half & np.int32(0x7FFF)) << 13 | (half & np.int32(0x8000)) << 16
        for column in range(bits.shape[1]):
            row[column] *= _BIAS
        for i in range(queries.shape[0]):
            total = np.float32(0)
            for column in range(bits.shape[1]):
                total += row[column] * queries[i, column]
            out[i, unit] = total


def unit_products(vectors: Float16, queries: Float32) -> Float32:
    """vectors float16 [U, D] · queries float32 [N, D] → float32 [N, U].

    BLAS needs float32: 0.75 µs a unit on an AVX2 machine, of which 0.7 go into the conversion. Beyond 32,768 units a
    kernel of our own reads float16: 0.05 µs with one query, 0.09 with four. It rounds differently.
    """
    if len(vectors) <= _FEW:
        wide = vectors.astype(np.float32)
        return np.array([wide @ query for query in queries], np.float32).reshape(len(queries), len(vectors))
    bits, out = vectors.view(np.uint16), np.empty((len(queries), len(vectors)), np.float32)
    threads = max(1, min(config.NUMBA_NUM_THREADS, len(vectors) // _UNITS_A_THREAD))
    borders = np.linspace(0, len(vectors), threads + 1).astype(int).tolist()
    wanted = np.ascontiguousarray(queries, np.float32)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda part: _products(bits[slice(*part)], wanted, out[:, slice(*part)]), pairwise(borders)))
    return out


def unit_products_numpy(vectors: Float16, queries: Float32) -> Float32:
    """The twin of `unit_products`."""
    return np.asarray(queries.astype(np.float64) @ vectors.T.astype(np.float64), np.float32)
