"""NumPy twins, in float64, that define the ops of `winnow_cuda.ops`: `NAME_numpy` for each op."""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.ops.attention import BLOCK
from winnow_cuda.ops.drafting import Counts
from winnow_cuda.ops.elementwise import EPS
from winnow_cuda.ops.gpu.gemm import Epilogue
from winnow_cuda.ops.scoring import NOTHING
from winnow_cuda.shapes import BlockRule, Float16, Float32, Int8, Int32, Int64


def rms_norm_numpy(x: Float32, weight: Float32, eps: float) -> Float32:
    """The twin of `rms_norm`."""
    wide = x.astype(np.float64)
    scale = 1.0 / np.sqrt((wide * wide).mean(-1, keepdims=True) + eps)
    return np.asarray(wide * scale * weight, np.float32)


def standardise_numpy(x: Float32, mean: Float32, deviation: Float32) -> Float32:
    """The twin of `standardise`."""
    wide = x.astype(np.float64)
    scaled = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + EPS)
    return np.asarray((scaled - mean) / deviation, np.float32)


def rope_numpy(x: Float32, cos: Float32, sin: Float32, interleaved: bool) -> Float32:
    """The twin of `rope`."""
    half = x.shape[2] // 2
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    c, s = cos[:, None], sin[:, None]
    turned = a * c - b * s, a * s + b * c
    joined = np.stack(turned, -1).reshape(x.shape) if interleaved else np.concatenate(turned, -1)
    return np.ascontiguousarray(joined)


def swiglu_numpy(gate_up: Float32) -> Float32:
    """The twin of `swiglu`."""
    gate, up = np.split(gate_up.astype(np.float64), 2, axis=1)
    result: Float32 = (gate / (1.0 + np.exp(-gate)) * up).astype(np.float32)
    return result


def segment_attention_numpy(
    q: Float32, k: Float32, v: Float32, offsets: Int64, prefix_k: Float32, prefix_v: Float32
) -> Float32:
    """The twin of `segment_attention`: a dense softmax over every row, in float64."""
    out = np.empty(q.shape, np.float64)
    group, prefix = q.shape[1] // k.shape[1], len(prefix_k)
    for a, b in pairwise(offsets):
        keys = np.concatenate([prefix_k, k[a:b]]).astype(np.float64).repeat(group, axis=1)
        values = np.concatenate([prefix_v, v[a:b]]).astype(np.float64).repeat(group, axis=1)
        scores = np.einsum("thd,shd->hts", q[a:b], keys) * q.shape[2] ** -0.5
        masked = np.triu(np.ones((b - a, prefix + b - a), bool), prefix + 1)
        scores[:, masked] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        out[a:b] = np.einsum("hts,shd->thd", weights, values)
    return out.astype(np.float32)


def block_attention_numpy(q: Float32, k: Float32, v: Float32, mask: NDArray[np.bool_]) -> Float32:
    """The twin of `block_attention`: q [T, H, D]; k, v [T, HK, D] → [T, H, D].

    mask [H, blocks, blocks] says which key blocks a query block sees; within these, attention is causal row by row.
    """
    tokens, heads, dim = q.shape
    group = heads // k.shape[1]
    causal = np.tril(np.ones((tokens, tokens), bool))
    out = np.empty(q.shape, np.float64)
    for h in range(heads):
        seen = mask[h].repeat(BLOCK, 0).repeat(BLOCK, 1)[:tokens, :tokens] & causal
        scores = q[:, h].astype(np.float64) @ k[:, h // group].T.astype(np.float64) * dim**-0.5
        scores[~seen] = -np.inf
        weights = np.exp(scores - scores.max(1, keepdims=True))
        out[:, h] = weights @ v[:, h // group] / weights.sum(1, keepdims=True)
    return out.astype(np.float32)


def int8_gemm_numpy(a: Float32, w: Float32) -> Float32:
    """The twin of `int8_gemm`, of unpacked weights: what a product without rounding is."""
    return np.asarray(a.astype(np.float64) @ w.T.astype(np.float64), np.float32)


def int8_swiglu_numpy(a: Float32, gate_up: Float32) -> Float32:
    """The twin of `int8_swiglu`, of unpacked weights, gate above up: what comes out without rounding."""
    return swiglu_numpy(int8_gemm_numpy(a, gate_up))


def pool_runs_numpy(y: Float32, logits: Float32, runs: Int32) -> Float32:
    """The twin of `pool_runs`."""
    wide = y.astype(np.float64)
    unit = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12)
    weighted = np.logaddexp(0, logits.astype(np.float64))[:, None] * unit
    sums = [weighted[start:stop].sum(0) for start, stop in runs]
    return np.asarray(sums, np.float32).reshape(len(runs), y.shape[1])


def quantise_keys_numpy(x: Float32) -> tuple[Int8, Float32]:
    """The twin of `quantise_keys`."""
    wide = x.astype(np.float64)
    highest, norm = np.abs(wide).max(-1, keepdims=True), np.linalg.norm(wide, axis=-1, keepdims=True)
    filled = highest > 0
    inverse = np.divide(127, highest, out=np.zeros_like(highest), where=filled)
    scales = np.divide(highest, 127 * norm, out=np.zeros_like(highest), where=filled)
    return np.rint(wide * inverse).astype(np.int8), scales[:, 0].astype(np.float32)


def maxsim_numpy(codes: Int8, scales: Float16, runs: Int64, queries: Float32, weights: Float32) -> Float32:
    """The twin of `maxsim`."""
    similarity = (codes.astype(np.float64) * scales[:, None]) @ queries.T.astype(np.float64)
    rows = [similarity[a:b].max(0, initial=NOTHING) for a, b in runs]
    best = np.stack(rows) if rows else np.empty((0, len(queries)))
    return np.asarray(best @ (weights / weights.sum()), np.float32)


def unit_mass_numpy(codes: Int8, scales: Float16, offsets: Int64, queries: Float32) -> tuple[Float32, Float32]:
    """The twin of `unit_mass`."""
    wide = codes.astype(np.float64) * scales[:, None]
    scores = wide @ queries.T.astype(np.float64) * queries.shape[1] ** -0.5
    mass = np.full((len(offsets) - 1, len(queries)), NOTHING, np.float64)
    peak = mass.copy()
    for u, (a, b) in enumerate(pairwise(offsets)):
        if a < b:
            peak[u] = scores[a:b].max(0)
            mass[u] = peak[u] + np.log(np.exp(scores[a:b] - peak[u]).sum(0))
    return mass.astype(np.float32), peak.astype(np.float32)


def unit_products_numpy(vectors: Float16, queries: Float32) -> Float32:
    """The twin of `unit_products`."""
    return np.asarray(queries.astype(np.float64) @ vectors.T.astype(np.float64), np.float32)


def gemm_numpy(kind: Epilogue, a: Float32, w: Float32, c: Float32 | None) -> Float32:
    """The twin of `gemm`: float32 in and out, sums in float64. "swiglu" takes W as `interleave_gate_up` gives it."""
    product = a.astype(np.float64) @ w.T.astype(np.float64)
    if kind == "add":
        assert c is not None
        product += c
    if kind == "swiglu":
        pairs = product.reshape(len(a), -1, 2, 8)
        return swiglu_numpy(np.concatenate([pairs[:, :, i].reshape(len(a), -1) for i in range(2)], axis=1))
    return product.astype(np.float32)


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


def block_choices_numpy(
    logits: Float32, before: Float32, after: Float32, previous: int, count: int, least: float
) -> tuple[Int32, Float32]:
    """The twin of `block_choices`."""
    wide, count = logits.astype(np.float64), min(count, logits.shape[1])
    tokens = np.argsort(-wide, axis=1, kind="stable")[:, :count].astype(np.int32)
    chances = np.zeros((len(wide), count, count), np.float32)
    reached = np.ones(1)
    for place, row in enumerate(wide):
        weights = np.exp(row - row.max())
        alone = weights[tokens[place]] / weights.sum()
        behind = before[tokens[place - 1] if place else [previous]].astype(np.float64)
        raised = alone * np.exp(behind @ after[tokens[place]].T.astype(np.float64))
        chances[place, : len(raised)] = raised / (raised.sum(1, keepdims=True) + max(0.0, 1 - alone.sum()))
        reached = (reached[:, None] * chances[place, : len(raised)]).max(0)
        if reached.max() < least:
            return tokens[:place], chances[:place]
    return tokens, chances


def repeated_suffix_numpy(
    text: Int32, length: int, token: int, counts: Counts, most: int, gap: int, places: Int32
) -> tuple[int, int, bool]:
    """The twin of `repeated_suffix`."""
    same = (text[:length][::-1] == token).astype(np.uint8)
    exact, gapped = counts[:, 1 : length + 1]
    before = np.minimum(exact, most - 1)
    exact[:] = (before + 1) * same
    gapped[:] = np.maximum.reduce([exact, (np.minimum(gapped, most - 2) + 1) * same, before])
    text[length] = token
    longest, longest_gapped = int(exact.max(initial=0)), int(gapped.max(initial=0))
    is_gapped = bool(longest_gapped >= longest + gap)
    matched, found = (longest_gapped, gapped) if is_gapped else (longest, exact)
    behind = (length - np.flatnonzero(found == matched))[: len(places)] if matched else np.empty(0, np.int32)
    places[: len(behind)] = behind
    return len(behind), matched, is_gapped
