"""Scores of units by cached keys: MaxSim, the mass of a head's attention, and products with unit vectors."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import config
from numpy.typing import NDArray

from winnow_cuda.blas_threads import one_blas_thread
from winnow_cuda.ops._cache import compiled
from winnow_cuda.ops._exp import exp_nonpositive, from_half, larger
from winnow_cuda.shapes import Float16, Float32, Int8, Int64

_BLOCK = 2048  # keys decoded at once: with their products they stay in the cache of a core
_KEYS_A_THREAD = _UNITS_A_THREAD = 16_384  # 1 ms
_MASS_BLOCK = 8192
NOTHING = np.float32(-1e30)


@compiled(fastmath=True)
def _decode(
    codes: Int8, bits: NDArray[np.uint16], runs: Int64, offsets: Int64, first: int, unit: int, keys: Float32
) -> None:
    """Keys first… of all runs, the first of `unit`, into keys [S_block, D]; `bits` are scales'."""
    for row in range(keys.shape[0]):
        while offsets[unit + 1] <= first + row:
            unit += 1
        at = runs[unit, 0] + first + row - offsets[unit]
        scale = from_half(bits[at])
        for column in range(codes.shape[1]):
            keys[row, column] = codes[at, column] * scale


@compiled(fastmath=True)
def _unit_maxima(similarity: Float32, first: int, offsets: Int64, unit: int, best: Float32) -> int:
    """Fold similarity [S_block, N] of keys first.. into best [U, N]; returns the unit the block ends in."""
    for row in range(similarity.shape[0]):
        while offsets[unit + 1] <= first + row:
            unit += 1
        for i in range(similarity.shape[1]):
            best[unit, i] = larger(best[unit, i], similarity[row, i])
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
    """score(u) = Σ_i w_i · max_{s ∈ u} q_i · k_s / Σ_i w_i (ColBERT, Khattab and Zaharia 2020, eq. 3) → float32 [U].

    codes int8 [S, D] and scales float16 [S] of keys, unit u = rows runs[u, 0]:runs[u, 1] (int64 [U, 2]), queries
    float32 [N, D], weights float32 [N]. A unit without keys scores -1e30. Each thread takes a part of the units.
    """
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


@compiled(fastmath=True)
def _accumulate(scores: Float32, first: int, offsets: Int64, unit: int, high: Float32, total: Float32) -> int:
    """Online log-sum-exp of scores [S_block, N] into high and total [U, N] (Milakov and Gimelshein 2018, alg. 3)."""
    for row in range(scores.shape[0]):
        while offsets[unit + 1] <= first + row:
            unit += 1
        for i in range(scores.shape[1]):
            x, h = scores[row, i], high[unit, i]
            m = larger(x, h)
            total[unit, i] = total[unit, i] * exp_nonpositive(h - m) + exp_nonpositive(x - m)
            high[unit, i] = m
    return unit


def unit_mass(codes: Int8, scales: Float16, offsets: Int64, queries: Float32) -> tuple[Float32, Float32]:
    """log_mass(i, u) = log Σ_{s ∈ u} exp(q_i · k_s / √D), before RoPE, and its highest term: float32 [U, N] each.

    codes int8 [S, D] and scales float16 [S] of one KV head's keys, unit u = rows offsets[u]:offsets[u + 1], queries
    float32 [N, D] of one head. An empty unit gets -1e30 in both.
    """
    shape = (len(offsets) - 1, len(queries))
    high, total = np.full(shape, NOTHING, np.float32), np.zeros(shape, np.float32)
    scaled = np.ascontiguousarray(queries.T * np.float32(queries.shape[1] ** -0.5))
    unit = 0
    for first in range(0, len(codes), _MASS_BLOCK):
        scores = codes[first : first + _MASS_BLOCK].astype(np.float32) @ scaled
        scores *= scales[first : first + _MASS_BLOCK, None]
        unit = _accumulate(scores, first, offsets, unit, high, total)
    mass = np.where(total > 0, high + np.log(np.maximum(total, np.float32(1e-37))), NOTHING)
    return mass.astype(np.float32), high


@compiled(fastmath=True)
def _products(bits: NDArray[np.uint16], queries: Float32, row: Float32, out: Float32) -> None:
    """The products of vectors, given as the bits of float16 [U, D], into out [N, U]. row [D] is to work in."""
    for unit in range(bits.shape[0]):
        for column in range(bits.shape[1]):
            row[column] = from_half(bits[unit, column])
        for i in range(queries.shape[0]):
            total = np.float32(0)
            for column in range(bits.shape[1]):
                total += row[column] * queries[i, column]
            out[i, unit] = total


def unit_products(vectors: Float16, queries: Float32) -> Float32:
    """vectors float16 [U, D] · queries float32 [N, D] → float32 [N, U].

    BLAS would need float32: 0.75 µs a unit on an AVX2 machine, of which 0.7 go into the conversion. This takes 0.05 µs
    with one query, 0.09 with four.
    """
    bits, out = vectors.view(np.uint16), np.empty((len(queries), len(vectors)), np.float32)
    threads = max(1, min(config.NUMBA_NUM_THREADS, len(vectors) // _UNITS_A_THREAD))
    borders = np.linspace(0, len(vectors), threads + 1).astype(int).tolist()
    wanted = np.ascontiguousarray(queries, np.float32)
    rows, parts = np.empty((threads, bits.shape[1]), np.float32), [slice(*part) for part in pairwise(borders)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda part, row: _products(bits[part], wanted, row, out[:, part]), parts, rows))
    return out
