"""MaxSim by unit (ColBERT, Khattab and Zaharia 2020, eq. 3), weighted by query token.

score(u) = Σ_i w_i · max_{s ∈ u} q_i · k_s / Σ_i w_i, over int8 keys that are decoded a block at a time.
The units to score may lie anywhere among the keys.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

from winnow_cuda.blas_threads import one_blas_thread
from winnow_cuda.shapes import Float16, Float32, Int8, Int64

_BLOCK = 2048  # keys decoded at once: with their products they stay in the cache of a core
_KEYS_A_THREAD = 16_384  # 1 ms
_BIAS = np.float32(2.0**112)  # between the exponents of float16 and float32
NOTHING = np.float32(-1e30)


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _decode(
    codes: Int8, bits: NDArray[np.uint16], runs: Int64, offsets: Int64, first: int, unit: int, keys: Float32
) -> None:
    """Keys first… of all runs in turn, the first of them of `unit`, into keys [S_block, D]; the product is exact.

    `bits` are those of the float16 scales; see `_products` in `unit_products.py`.
    """
    shifted = np.empty(1, np.int32)
    scale = shifted.view(np.float32)
    for row in range(keys.shape[0]):
        while offsets[unit + 1] <= first + row:
            unit += 1
        at = runs[unit, 0] + first + row - offsets[unit]
        shifted[0] = (np.int32(bits[at]) & np.int32(0x7FFF)) << 13
        wide = scale[0] * _BIAS
        for column in range(codes.shape[1]):
            keys[row, column] = codes[at, column] * wide


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
    keys_of: Callable[[int, int, Float32], None],
    offsets: Int64,
    transposed: Float32,
    part: tuple[int, int],
    best: Float32,
) -> None:
    """The products of units part[0]:part[1], folded into best [U, N]. `keys_of` decodes keys into a block."""
    unit, stop = part[0], int(offsets[part[1]])
    keys = np.empty((_BLOCK, len(transposed)), np.float32)
    for first in range(int(offsets[part[0]]), stop, _BLOCK):
        block = keys[: stop - first]
        keys_of(first, unit, block)
        unit = _unit_maxima(block @ transposed, first, offsets, unit, best)


def maxsim(codes: Int8, scales: Float16, runs: Int64, queries: Float32, weights: Float32) -> Float32:
    """Score units: codes int8 [S, D], scales float16 [S], unit u = rows runs[u, 0]:runs[u, 1] (int64 [U, 2]),
    queries float32 [N, D], weights float32 [N] → float32 [U]. A unit without keys scores -1e30.

    Each thread takes a part of the units, with a BLAS of one thread."""
    best = np.full((len(runs), len(queries)), NOTHING, np.float32)
    offsets = np.concatenate([[0], np.cumsum(runs[:, 1] - runs[:, 0])])
    rows, bits, transposed = int(offsets[-1]), scales.view(np.uint16), np.ascontiguousarray(queries.T)
    threads = max(1, min(config.NUMBA_NUM_THREADS, rows // _KEYS_A_THREAD))
    borders = np.searchsorted(offsets, np.linspace(0, rows, threads + 1)).tolist()

    def keys_of(first: int, unit: int, block: Float32) -> None:
        _decode(codes, bits, runs, offsets, first, unit, block)

    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda part: _fold(keys_of, offsets, transposed, part, best), pairwise(borders)))
    return np.asarray(best @ (weights / weights.sum()), np.float32)


def maxsim_numpy(codes: Int8, scales: Float16, runs: Int64, queries: Float32, weights: Float32) -> Float32:
    """The twin of `maxsim`."""
    similarity = (codes.astype(np.float64) * scales[:, None]) @ queries.T.astype(np.float64)
    rows = [similarity[a:b].max(0, initial=NOTHING) for a, b in runs]
    best = np.stack(rows) if rows else np.empty((0, len(queries)))
    return np.asarray(best @ (weights / weights.sum()), np.float32)
