"""Causal attention, with queries and keys after RoPE, inside packed sequences that all see one shared prefix.

Row t of sequence i attends to every prefix row and to rows offsets[i]..t. Scores go through BLAS in blocks of query
rows; one fused kernel does scale, mask and softmax.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from winnow_cuda.ops._cache import compiled
from winnow_cuda.ops._exp import exp_nonpositive
from winnow_cuda.shapes import Float32, Int64

# 128 rows x 7 grouped heads x 2,048 keys x 4 bytes = 7.3 MB: fits the L3 slice of a core, loses nothing to BLAS.
_QUERY_ROWS = 128


@compiled(fastmath=True)
def _softmax_prefix_causal(scores: Float32, visible: int, scale: float) -> None:
    """In place on [G, R, K]: row r sees its first `visible` + r columns; the rest become zero."""
    groups, rows, columns = scores.shape
    for g in range(groups):
        for r in range(rows):
            row = scores[g, r]
            seen = visible + r
            highest = row[0]
            for c in range(1, seen):
                highest = max(highest, row[c])
            total = np.float32(0.0)
            for c in range(seen):
                e = exp_nonpositive((row[c] - highest) * np.float32(scale))
                row[c] = e
                total += e
            inverse = np.float32(1.0) / total
            for c in range(seen):
                row[c] *= inverse
            for c in range(seen, columns):
                row[c] = np.float32(0.0)


def _by_kv_head(x: Float32, kv_heads: int) -> Float32:
    """[T, H, D] → [kv_heads, H / kv_heads, T, D], contiguous."""
    tokens, heads, dim = x.shape
    return np.ascontiguousarray(x.reshape(tokens, kv_heads, heads // kv_heads, dim).transpose(1, 2, 0, 3))


def _one_sequence(q: Float32, k: Float32, v: Float32, prefix: int, out: Float32) -> None:
    """q [kv, G, n, D], k and v [kv, prefix + n, D] → out [n, kv, G, D]."""
    kv_heads, groups, rows, dim = q.shape
    scale = dim**-0.5
    for start in range(0, rows, _QUERY_ROWS):
        stop = min(rows, start + _QUERY_ROWS)
        keys = prefix + stop
        for h in range(kv_heads):
            block = np.ascontiguousarray(q[h, :, start:stop]).reshape(-1, dim)
            scores = (block @ k[h, :keys].T).reshape(groups, stop - start, keys)
            _softmax_prefix_causal(scores, prefix + start + 1, scale)
            mixed = (scores.reshape(-1, keys) @ v[h, :keys]).reshape(groups, stop - start, dim)
            out[start:stop, h] = mixed.transpose(1, 0, 2)


def segment_attention(
    q: Float32, k: Float32, v: Float32, offsets: Int64, prefix_k: Float32, prefix_v: Float32
) -> Float32:
    """Attend: q [T, H, D]; k, v [T, HK, D]; offsets int64 [S+1]; prefix_k, prefix_v [P, HK, D] → [T, H, D]."""
    tokens, heads, dim = q.shape
    kv_heads = k.shape[1]
    out = np.empty((tokens, kv_heads, heads // kv_heads, dim), np.float32)
    for a, b in pairwise(offsets):
        keys = np.ascontiguousarray(np.concatenate([prefix_k, k[a:b]]).transpose(1, 0, 2))
        values = np.ascontiguousarray(np.concatenate([prefix_v, v[a:b]]).transpose(1, 0, 2))
        _one_sequence(_by_kv_head(q[a:b], kv_heads), keys, values, len(prefix_k), out[a:b])
    return out.reshape(tokens, heads, dim)
