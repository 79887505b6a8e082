"""MaxSim by unit (ColBERT, Khattab and Zaharia 2020, eq. 3), weighted by query token.

score(u) = Σ_i w_i · max_{s ∈ u} q_i · k_s / Σ_i w_i, over int8 keys that are decoded a block at a time.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

from winnow_cuda.blas_threads import one_blas_thread
from winnow_cuda.shapes import Float32, Int8, Int64

_BLOCK = 2048  # keys decoded at once: with their products they stay in the cache of a core
_KEYS_A_THREAD = 16_384  # 1 ms
NOTHING = np.float32(-1e30)


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _decode(codes: Int8, scales: Float32, keys: Float32) -> None:
    """Keys of a block into keys [S_block, D]; the product is exact."""
    for row in range(codes.shape[0]):
        for column in range(codes.shape[1]):
            keys[row, column] = codes[row, column] * scales[row]


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _unit_maxima(similarity: Float32, first: int, offsets: Int64, unit: int, best: Float32) -> int:
    """Fold similarity [S_block, N] of keys first.. into best [U, N]; returns the unit the block ends in."""
    for row in range(similarity.shape[0]):
        while offsets[unit + 1] <= first + row:
            unit += 1
        for i in range(similarity.shape[1]):
            best[unit, i] = max(best[unit, i], similarity[row, i])
    return unit


def _fold(
    codes: Int8, scales: Float32, offsets: Int64, transposed: Float32, part: tuple[int, int], best: Float32
) -> None:
    """The products of units part[0]:part[1], folded into best [U, N]."""
    unit, stop = part[0], int(offsets[part[1]])
    keys = np.empty((_BLOCK, codes.shape[1]), np.float32)
    for first in range(int(offsets[part[0]]), stop, _BLOCK):
        rows = slice(first, min(first + _BLOCK, stop))
        block = keys[: rows.stop - first]
        _decode(codes[rows], scales[rows], block)
        unit = _unit_maxima(block @ transposed, first, offsets, unit, best)


def maxsim(codes: Int8, scales: NDArray[np.float16], offsets: Int64, queries: Float32, weights: Float32) -> Float32:
    """Score units: codes int8 [S, D], scales float16 [S], unit u = rows offsets[u]:offsets[u+1] (int64 [U+1]),
    queries float32 [N, D], weights float32 [N] → float32 [U]. A unit without keys scores -1e30.

    Each thread takes a part of the units, with a BLAS of one thread."""
    best = np.full((len(offsets) - 1, len(queries)), NOTHING, np.float32)
    threads = max(1, min(config.NUMBA_NUM_THREADS, len(codes) // _KEYS_A_THREAD))
    borders = np.searchsorted(offsets, np.linspace(0, len(codes), threads + 1)).tolist()
    arrays = codes, scales.astype(np.float32), offsets, np.ascontiguousarray(queries.T)
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda part: _fold(*arrays, part, best), pairwise(borders)))
    return np.asarray(best @ (weights / weights.sum()), np.float32)


def maxsim_numpy(
    codes: Int8, scales: NDArray[np.float16], offsets: Int64, queries: Float32, weights: Float32
) -> Float32:
    """The twin of `maxsim`."""
    similarity = (codes.astype(np.float64) * scales[:, None]) @ queries.T.astype(np.float64)
    rows = [similarity[a:b].max(0, initial=NOTHING) for a, b in pairwise(offsets)]
    best = np.stack(rows) if rows else np.empty((0, len(queries)))
    return np.asarray(best @ (weights / weights.sum()), np.float32)
