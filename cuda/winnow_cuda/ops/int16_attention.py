"""Attention of packed sequences with 16-bit integers (`_integers.py`): a drafter's attention on the CPU.

What `segment_attention` of `attention.py` does, for processors with AVX2. Products are exact in integers and all other
sums go key by key, so a result does not depend on the width of a processor's registers, nor on BLAS; and that of a row
does not depend on later rows.

Scores are computed transposed, [keys, 32 query rows]: softmax goes down the keys with a query row in each lane. Rows
are tokens by grouped heads, so 32 rows see nearly the same keys. A key's value is rounded relative to its largest
column, and that is made part of the key's weight, which is rounded relative to the largest of a row among 128 keys.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from winnow_cuda.ops._cache import compiled
from winnow_cuda.ops._exp import exp_nonpositive, larger, truncated
from winnow_cuda.ops._integers import PANEL, TILE, TILE_COLUMNS, multiply_tile, round_tiles
from winnow_cuda.shapes import Float32, Int16, Int32, Int64

_KEYS = 128  # a chunk of keys, whose weights have a scale of their own
_WEIGHT_STEPS, _VALUE_STEPS = 8191, 2047  # 8,191 * 2,047 * 128 is below 2^31
_UNSEEN, _LEAST = np.float32(-1e30), np.float32(1e-10)
_FAST = {"contract", "nnan", "ninf", "nsz", "arcp"}  # all but the order of sums


@compiled(inline="always")
def _scores(keys: Any, queries: Any, panel: int, seen: int, scores: Float32) -> None:
    """scores [keys, 32] of one panel of queries, for the tiles of keys that hold the first `seen`."""
    (keys, key_scales), (queries, query_scales) = keys, queries
    pairs = keys.shape[2]
    for tile in range((seen + TILE - 1) // TILE):
        for column in range(0, PANEL, TILE_COLUMNS):
            multiply_tile(
                (keys, tile * pairs * 2 * TILE),
                (key_scales, tile * TILE),
                (queries, (panel * pairs * PANEL + column) * 2),
                (query_scales, panel * PANEL + column),
                (scores, tile * TILE * PANEL + column, PANEL),
                pairs,
                True,
            )


@compiled(inline="always")
def _softmax(
    scores: Float32, seen: int, logs: Float32, inverse: Float32, codes: Int32, scales: Float32, lanes: Float32
) -> None:
    """Weights of scores [keys, 32], of which the first `seen` count, times the keys' sizes, e^logs and 1 / inverse.

    codes [chunks, 64, 32] get pairs of int16, which scales [chunks, 32] make weights; lanes [0] of [3, 32] are sums
    without the sizes.
    """
    chunks = (seen + _KEYS - 1) // _KEYS
    sums, highest, total = lanes[0], lanes[1], lanes[2]
    for lane in range(PANEL):
        highest[lane], sums[lane] = _UNSEEN, 0
    for chunk in range(chunks):
        best = scales[chunk]
        for lane in range(PANEL):
            best[lane] = _UNSEEN
        for key in range(chunk * _KEYS, min(seen, (chunk + 1) * _KEYS)):
            for lane in range(PANEL):
                scores[key, lane] += logs[key]
                best[lane] = larger(best[lane], scores[key, lane])
        for lane in range(PANEL):
            highest[lane] = larger(highest[lane], best[lane])
    for lane in range(PANEL):
        scores[seen, lane] = _UNSEEN  # the other half of the last pair
    for chunk in range(chunks):
        best, first = scales[chunk], chunk * _KEYS
        for lane in range(PANEL):
            total[lane] = 0
        for pair in range((min(seen, first + _KEYS) - first + 1) // 2):
            key = first + 2 * pair
            for lane in range(PANEL):
                one = exp_nonpositive(scores[key, lane] - best[lane])
                other = exp_nonpositive(scores[key + 1, lane] - best[lane])
                total[lane] += one * inverse[key] + other * inverse[key + 1]
                low = truncated(one * np.float32(_WEIGHT_STEPS) + np.float32(0.5))
                high = truncated(other * np.float32(_WEIGHT_STEPS) + np.float32(0.5))
                codes[chunk, pair, lane] = low | (high << 16)
        for lane in range(PANEL):
            share = exp_nonpositive(best[lane] - highest[lane])
            sums[lane] += total[lane] * share
            scales[chunk, lane] = share / np.float32(_WEIGHT_STEPS)


@compiled(inline="always")
def _mix(values: Any, codes: Int16, scales: Float32, tile: int, seen: int, mixed: Float32) -> None:
    """mixed [TILE, 32]: a tile of the values' columns, summed over `seen` keys with weights."""
    values, value_scales = values
    _, chunks, pairs, _ = values.shape
    for chunk in range((seen + _KEYS - 1) // _KEYS):
        used = (min(seen - chunk * _KEYS, _KEYS) + 1) // 2
        for column in range(0, PANEL, TILE_COLUMNS):
            multiply_tile(
                (values, (tile * chunks + chunk) * pairs * 2 * TILE),
                (value_scales, 0),
                (codes, (chunk * pairs * PANEL + column) * 2),
                (scales, chunk * PANEL + column),
                (mixed, column, PANEL),
                used,
                chunk == 0,
            )


@compiled
def _round_values(v: Float32, codes: Int16, sizes: Float32) -> None:
    """v [keys, D] → codes [tiles of D, chunks, pairs of keys, 2 TILE], and the size of each key."""
    keys, dim = v.shape
    for key in range(keys):
        largest = _LEAST
        for column in range(dim):
            largest = larger(largest, abs(v[key, column]))
        sizes[key] = largest
        chunk, place = key // _KEYS, key % _KEYS
        for column in range(dim):
            code = np.int16(np.int32(np.rint(v[key, column] * (np.float32(_VALUE_STEPS) / largest))))
            codes[column // TILE, chunk, place // 2, column % TILE * 2 + place % 2] = code


@compiled(fastmath=_FAST)
def _one_head(queries: Any, keys: Any, values: Any, sizes: Any, room: Any, group: int, out: Float32) -> None:
    """out [n * group, D] of queries, keys and values, each (codes, scales); sizes (logarithms, inverse) of the values.

    room: scores [keys, 32], codes of weights, the same as int16, out transposed [tiles of D, TILE, 32], and what
    `_softmax` calls scales and lanes.
    """
    (logs, inverse), (scores, codes, in_pairs, mixed, scales, lanes) = sizes, room
    rows, dim = out.shape
    tokens = rows // group
    prefix = len(logs) - 1 - tokens
    for panel in range(len(queries[0])):
        first = panel * PANEL
        seen = prefix + min(tokens, (first + PANEL - 1) // group + 1)
        _scores(keys, queries, panel, seen, scores)
        for key in range(prefix + first // group + 1, seen):
            for lane in range(PANEL):
                if prefix + (first + lane) // group < key:
                    scores[key, lane] = _UNSEEN
        _softmax(scores, seen, logs, inverse, codes, scales, lanes)
        for tile in range(len(mixed)):
            _mix(values, in_pairs, scales, tile, seen, mixed[tile])
        for lane in range(min(PANEL, rows - first)):
            weight = np.float32(1.0) / lanes[0, lane]
            for column in range(dim):
                out[first + lane, column] = mixed[column // TILE, column % TILE, lane] * weight


def _attend(q: Float32, k: Float32, v: Float32, group: int, out: Float32) -> None:
    """q, out [n * group, D]; k, v [prefix + n, D], of one head."""
    keys, dim = k.shape
    tiles, chunks, steps = -(-dim // TILE), -(-keys // _KEYS), math.isqrt((2**31 - 1) // dim)
    queries = round_tiles(q * np.float32(dim**-0.5), PANEL, dim, np.int16, steps)
    rounded = round_tiles(k, TILE, dim, np.int16, steps)
    values, scales = np.zeros((tiles, chunks, _KEYS // 2, 2 * TILE), np.int16), np.full(TILE, 1 / _VALUE_STEPS, "f4")
    sizes = np.ones(keys + 1, np.float32)  # of one more than there are: the other half of the last pair
    _round_values(v, values, sizes)
    scores = np.empty((len(rounded.codes) * TILE + 1, PANEL), np.float32)
    weights = np.empty((chunks, _KEYS // 2, PANEL), np.int32)
    mixed, *of_lanes = (np.empty(shape, np.float32) for shape in ((tiles, TILE, PANEL), (chunks, PANEL), (3, PANEL)))
    room = scores, weights, weights.view(np.int16), mixed, *of_lanes
    both = (queries.codes, queries.scales), (rounded.codes, rounded.scales)
    _one_head(*both, (values, scales), (np.log(sizes), 1 / sizes), room, group, out)


def int16_attention(
    q: Float32, k: Float32, v: Float32, offsets: Int64, prefix_k: Float32, prefix_v: Float32
) -> Float32:
    """q [T, H, D]; k, v [T, HK, D]; offsets int64 [S+1]; prefix_k, prefix_v [P, HK, D] → [T, H, D]; D is even."""
    tokens, heads, dim = q.shape
    kv_heads = k.shape[1]
    group = heads // kv_heads
    grouped = np.ascontiguousarray(q.reshape(tokens, kv_heads, group, dim).transpose(1, 0, 2, 3))
    out = np.empty_like(grouped)
    for a, b in pairwise(offsets.tolist()):
        keys, values = np.concatenate([prefix_k, k[a:b]]), np.concatenate([prefix_v, v[a:b]])
        for head in range(kv_heads):
            rows, into = (one[head, a:b].reshape(-1, dim) for one in (grouped, out))
            _attend(rows, np.ascontiguousarray(keys[:, head]), np.ascontiguousarray(values[:, head]), group, into)
    return np.ascontiguousarray(out.transpose(1, 0, 2, 3)).reshape(tokens, heads, dim)
