"""The CPU encoder: a drafter's first layers over packed sequences.

Where weights are packed, dense products and attention are those of `ops/int16_products.py` and
`ops/int16_attention.py`; where they are float32, both multiply in BLAS. The rest is Numba's.

Several threads may use one encoder at once: nothing that one of them sees changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numba import config

from winnow_cuda.ops.attention import segment_attention
from winnow_cuda.ops.elementwise import key_centre, rms_norm, rope, rope_table, standardise, swiglu
from winnow_cuda.ops.int16_attention import int16_attention
from winnow_cuda.ops.int16_products import int16_gemm, int16_swiglu
from winnow_cuda.ops.readout import pool_runs, quantise_keys
from winnow_cuda.shapes import (
    Batch,
    Encoded,
    Float32,
    Int32,
    Int64,
    KeyHead,
    Keys,
    LayerWeights,
    Matrix,
    PackedMatrix,
    Readout,
    TransformerShape,
    Weights,
    rows_of,
)


@dataclass(frozen=True, slots=True)
class PrefixLayer:
    """Keys (after RoPE) and values that all sequences see in one layer, float32 [P, kv_heads, head_dim]."""

    keys: Float32
    values: Float32

    def then(self, keys: Float32, values: Float32) -> PrefixLayer:
        """With further rows."""
        return PrefixLayer(np.concatenate([self.keys, keys]), np.concatenate([self.values, values]))


@dataclass(frozen=True, slots=True)
class CachedPrefix:
    """A sequence that others begin with: rows seen later by layer, and its `hidden` after the last."""

    batch: Batch
    layers: list[PrefixLayer]
    hidden: Float32

    def begins(self, batch: Batch) -> bool:
        """True if every sequence of `batch` begins with it and goes on."""
        if not (np.diff(batch.offsets) > len(self.batch.ids)).all():
            return False
        rows = self._rows(batch)
        same = (batch.ids[rows] == self.batch.ids) & (batch.positions[rows] == self.batch.positions)
        return bool(same.all())

    def rest(self, batch: Batch) -> Batch:
        """The rows that follow it in each sequence."""
        rows = self._rows(batch)
        offsets = batch.offsets - len(self.batch.ids) * np.arange(len(batch.offsets))
        return Batch(np.delete(batch.ids, rows), np.delete(batch.positions, rows), offsets)

    def whole(self, batch: Batch, rest: Float32) -> Float32:
        """The rows of `batch` from those of its `rest`."""
        rows = self._rows(batch)
        hidden = np.empty((len(batch.ids), rest.shape[1]), np.float32)
        hidden[np.delete(np.arange(len(hidden)), rows)] = rest
        hidden[rows] = self.hidden
        return hidden

    def _rows(self, batch: Batch) -> Int64:
        """The rows of `batch` that it is, [sequences, rows]."""
        return batch.offsets[:-1, None] + np.arange(len(self.batch.ids))


def read_keys(hidden: Float32, runs: Int32, readout: Readout) -> Keys:
    """Keys of rows of hidden states, float32 [T, width], as `Encoder.encode_keys` gives them."""
    rows = hidden[rows_of(runs)]
    codes, scales = quantise_keys(_through(rows, readout.token))
    columns = _through(rows, readout.unit)
    shares, logits = np.ascontiguousarray(columns[:, :-1]), np.ascontiguousarray(columns[:, -1])
    borders = np.cumsum([0, *(runs[:, 1] - runs[:, 0])]).astype(np.int32)
    return Keys(codes, scales, pool_runs(shares, logits, np.stack([borders[:-1], borders[1:]], 1)))


def _through(rows: Float32, head: KeyHead) -> Float32:
    return np.asarray(standardise(rows, head.mean, head.deviation) @ head.matrix.T, np.float32)


Rows = Int64 | slice
"""Rows by number; `EVERY` takes an array as it is."""
EVERY = slice(None)


def shared_rows(batch: Batch) -> tuple[Rows, Rows]:
    """Rows of `batch` to compute, ascending, and each row's place among these; starts alike are shared."""
    twins = np.arange(len(batch.ids))
    for before, sequence in pairwise(pairwise(batch.offsets.tolist())):
        length = _common_start(batch, before, sequence)
        twins[sequence[0] : sequence[0] + length] = twins[before[0] : before[0] + length]
    own = np.flatnonzero(twins == np.arange(len(twins)))
    return (EVERY, EVERY) if len(own) == len(twins) else (own, np.searchsorted(own, twins))


def _common_start(batch: Batch, first: tuple[int, int], second: tuple[int, int]) -> int:
    """The number of rows that two sequences have in common at their start."""
    length = min(first[1] - first[0], second[1] - second[0])
    one, other = (slice(start, start + length) for start, _ in (first, second))
    same = (batch.ids[one] == batch.ids[other]) & (batch.positions[one] == batch.positions[other])
    return length if same.all() else int(same.argmin())


# Rows of the feed-forward block taken at once: their activations stay below the size from which malloc maps every
# buffer anew, which costs page faults.
_FFN_ROWS = 512
# A question, its sub-questions and the code at a cursor have fewer, and all cores; a batch of files has one.
_MOST_ROWS_ASKED = 512


@dataclass(slots=True)
class _Pass:
    """The state of one walk through the layers. `places` has the row of `x` for each row of the batch."""

    x: Float32  # [rows, width]
    rows: Rows
    places: Rows
    offsets: Int64
    cos: Float32
    sin: Float32
    prefix: list[PrefixLayer]
    threads: int


class CpuEncoder:
    """Runs `weights` behind a fixed prefix of ids. `opening` begins questions; both are computed once."""

    # One full segment, or many short ones: enough rows for products at full speed, small enough to cancel.
    batch_tokens = 2048
    parallel = True

    def __init__(self, weights: Weights, prefix: Int32, opening: Batch | None = None) -> None:
        self._weights, self._begins_with = weights, opening
        shape = weights.shape
        self._centres = [_centre(layer, shape) for layer in weights.layers]
        nothing = np.empty((0, shape.kv_heads, shape.head_dim), np.float32)
        self._prefix = [PrefixLayer(nothing, nothing)] * shape.layers
        if len(prefix):
            positions = np.arange(len(prefix), dtype=np.int32)
            batch = Batch(prefix, positions, np.array([0, len(prefix)]))
            self._prefix = self._seen_later(self._start(batch))

    def encode(
        self,
        batch: Batch,
        taps: frozenset[int] = frozenset(),
        between_layers: Callable[[], None] | None = None,
    ) -> Encoded:
        """As `Encoder.encode`; allocates about 30 KB a token of the batch."""
        if len(batch.ids) > _MOST_ROWS_ASKED:
            return self._encode(self._start(batch), taps, between_layers)
        cached = None if taps else self._cached_prefix
        if cached is None or not cached.begins(batch):
            return self._encode(self._start(batch, config.NUMBA_NUM_THREADS), taps, between_layers)
        state = self._start(cached.rest(batch), config.NUMBA_NUM_THREADS, cached.layers)
        return Encoded(cached.whole(batch, self._encode(state, taps, between_layers).hidden), {}, {})

    def encode_keys(self, batch: Batch, runs: Int32, between_layers: Callable[[], None] | None = None) -> Keys:
        """As `Encoder.encode_keys`."""
        assert self._weights.readout is not None
        hidden = self._encode(self._start(batch), frozenset(), between_layers).hidden
        return read_keys(hidden, runs, self._weights.readout)

    def encode_rows(self, batch: Batch, between_layers: Callable[[], None] | None = None) -> Float32:
        """As `RowEncoder.encode_rows`."""
        head = self._weights.rows
        assert head is not None
        hidden = self._encode(self._start(batch), frozenset(), between_layers).hidden
        return np.asarray(standardise(hidden, head.mean, head.deviation) @ head.matrix.T, np.float32)

    def _encode(self, state: _Pass, taps: frozenset[int], between_layers: Callable[[], None] | None) -> Encoded:
        queries, keys = {}, {}
        for index in range(self._weights.shape.layers):
            q, k, _, _ = self._layer(state, index)
            if between_layers is not None:
                between_layers()
            if index in taps:
                queries[index], keys[index] = q[state.places], k[state.places]
        return Encoded(state.x[state.places], queries, keys)

    @cached_property
    def _cached_prefix(self) -> CachedPrefix | None:
        if self._begins_with is None:
            return None
        state = self._start(self._begins_with, config.NUMBA_NUM_THREADS)
        return CachedPrefix(self._begins_with, self._seen_later(state), state.x)

    def _start(self, batch: Batch, threads: int = 1, prefix: list[PrefixLayer] | None = None) -> _Pass:
        shape, (rows, places) = self._weights.shape, shared_rows(batch)
        cos, sin = rope_table(batch.positions[rows], shape.head_dim, shape.rope_base)
        x = self._weights.embedding.rows(batch.ids[rows])
        return _Pass(x, rows, places, batch.offsets, cos, sin, prefix or self._prefix, threads)

    def _seen_later(self, state: _Pass) -> list[PrefixLayer]:
        """Run one sequence → what it saw in each layer, and its own rows, for those that follow it."""
        found = []
        for index, before in enumerate(state.prefix):
            _, _, turned, v = self._layer(state, index)
            found.append(before.then(turned, v))
        return found

    def _layer(self, state: _Pass, index: int) -> tuple[Float32, Float32, Float32, Float32]:
        """One decoder layer on `state.x`, in place → q and k before RoPE, k after it and centred, v."""
        layer, prefix = self._weights.layers[index], state.prefix[index]
        shape, places = self._weights.shape, state.places
        q, k, v = self._project(state, layer)
        turned_q = rope(q, state.cos, state.sin, shape.rope_interleaved)
        turned_k = rope(k, state.cos, state.sin, shape.rope_interleaved) - self._centres[index]
        packed = (turned_q[places], turned_k[places], v[places])
        attention = int16_attention if isinstance(layer.qkv, PackedMatrix) else segment_attention
        mixed = attention(*packed, state.offsets, prefix.keys, prefix.values)[state.rows]
        state.x += _product(mixed.reshape(len(mixed), shape.q_width), layer.attn_output, state.threads)
        for start in range(0, len(state.x), _FFN_ROWS):
            rows = state.x[start : start + _FFN_ROWS]
            gated = _gated(rms_norm(rows, layer.ffn_norm, shape.rms_eps), layer.gate_up, shape.ffn_width, state.threads)
            rows += _product(gated, layer.ffn_down, state.threads)
        return q, k, turned_k, v

    def _project(self, state: _Pass, layer: LayerWeights) -> tuple[Float32, Float32, Float32]:
        """Queries [T, heads, D], keys and values [T, kv_heads, D] of the normalised rows."""
        shape, x = self._weights.shape, state.x
        qkv = _product(rms_norm(x, layer.attn_norm, shape.rms_eps), layer.qkv, state.threads)
        if layer.qkv_bias is not None:
            qkv += layer.qkv_bias
        parts = np.split(qkv, [shape.q_width, shape.q_width + shape.kv_width], axis=1)
        q, k, v = (np.ascontiguousarray(p).reshape(len(x), p.shape[1] // shape.head_dim, shape.head_dim) for p in parts)
        if layer.q_norm is not None and layer.k_norm is not None:
            q, k = rms_norm(q, layer.q_norm, shape.rms_eps), rms_norm(k, layer.k_norm, shape.rms_eps)
        return q, k, v


def _centre(layer: LayerWeights, shape: TransformerShape) -> Float32:
    """The centre of a layer's turned keys, which is taken off them, float32 [kv_heads, head_dim]."""
    if layer.qkv_bias is None:
        return np.zeros((shape.kv_heads, shape.head_dim), np.float32)
    return key_centre(layer.qkv_bias, shape).reshape(shape.kv_heads, shape.head_dim)


def _product(rows: Float32, matrix: Matrix, threads: int) -> Float32:
    return int16_gemm(rows, matrix, threads) if isinstance(matrix, PackedMatrix) else rows @ matrix.T


def _gated(rows: Float32, gate_up: Matrix, columns: int, threads: int) -> Float32:
    if isinstance(gate_up, PackedMatrix):
        return int16_swiglu(rows, gate_up, columns, threads)
    return swiglu(rows @ gate_up.T)
