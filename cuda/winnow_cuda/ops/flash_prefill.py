"""FlashPrefill (github.com/qhfan/FlashPrefill): which blocks of 128 keys a block of 128 queries attends to.

The mean key of a block stands for it. For query block m and key block n ≤ m, with s_i = q_i · mean_n / √D · log2 e over
the real rows i of block m: M_mn = max_i s_i and S_mn = Σ_i 2^(s_i - M_mn). Scores are put on one scale before they are
compared: S'_mn = S_mn · 2^(M_mn - max_n M_mn). On the diagonal row i counts with the share (i + 1) / 128 of the block
that it sees. Block n is kept if it is among the first or last, near the diagonal, or S'_mn ≥ alpha · max_n S'_mn.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.ops.attention import BLOCK
from winnow_cuda.shapes import BlockRule, Float32


def mean_keys_numpy(k: Float32) -> Float32:
    """k [T, HK, D] → the mean key of each block, [HK, blocks, D]; a ragged last block averages its real rows."""
    starts = np.arange(0, len(k), BLOCK)
    counts = np.minimum(len(k) - starts, BLOCK)
    sums = np.add.reduceat(k.astype(np.float64), starts, axis=0)
    return np.ascontiguousarray((sums / counts[:, None, None]).transpose(1, 0, 2), np.float32)


def block_scores_numpy(q: Float32, means: Float32) -> tuple[Float32, Float32]:
    """q [T, H, D], means [HK, blocks, D] → (M, S), float32 [H, blocks, blocks]; zero above the diagonal."""
    _, heads, dim = q.shape
    blocks, group = means.shape[1], heads // len(means)
    high, total = np.zeros((heads, blocks, blocks)), np.zeros((heads, blocks, blocks))
    for m in range(blocks):
        rows = q[m * BLOCK : (m + 1) * BLOCK].astype(np.float64)
        for h in range(heads):
            s = rows[:, h] @ means[h // group, : m + 1].T * (math.log2(math.e) / math.sqrt(dim))
            share = np.ones_like(s)
            share[:, m] = np.arange(1, len(rows) + 1) / BLOCK
            high[h, m, : m + 1] = s.max(0)
            total[h, m, : m + 1] = (share * np.exp2(s - s.max(0))).sum(0)
    return high.astype(np.float32), total.astype(np.float32)


def choose_blocks_numpy(high: Float32, total: Float32, rule: BlockRule) -> NDArray[np.bool_]:
    """Block scores (M, S) → which key blocks each query block keeps, [H, blocks, blocks]."""
    blocks = high.shape[1]
    m, n = np.arange(blocks)[:, None], np.arange(blocks)[None]
    causal = n <= m
    top = np.where(causal, high, -np.inf).max(-1, keepdims=True)
    scaled = np.where(causal, total * np.exp2(high - top), 0)
    always = (n < rule.sink) | (m - n < rule.window) | (m >= blocks - rule.last)
    return np.asarray(causal & (always | (scaled >= rule.alpha * scaled.max(-1, keepdims=True))))
