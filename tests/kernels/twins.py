"""NumPy twins, in float64, that define the ops of `winnow_cuda.ops`: `NAME_numpy` for each op."""

from itertools import pairwise

import numpy as np

from winnow_cuda.ops.drafting import Counts
from winnow_cuda.ops.elementwise import EPS
from winnow_cuda.ops.gpu.gemm import Epilogue
from winnow_cuda.ops.scoring import NOTHING
from winnow_cuda.shapes import Float16, Float32, Int8, Int32, Int64


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
