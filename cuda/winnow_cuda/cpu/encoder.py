"""The CPU encoder: a drafter's first layers over packed sequences.

Where weights are packed, dense products and attention are those of `ops/int8_products.py` and
`ops/int16_attention.py`; where they are float32, both multiply in BLAS. The rest is Numba's.

Several threads may use one encoder at once: nothing that one of them sees changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import config

from winnow_cuda.ops.attention import segment_attention
from winnow_cuda.ops.elementwise import key_centre, rms_norm, rope, rope_table, standardise, swiglu
from winnow_cuda.ops.int8_products import int8_gemm, int8_swiglu
from winnow_cuda.ops.int16_attention import int16_attention
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


# Rows of the feed-forward block taken at once: their activations stay below the size from which malloc maps every
# buffer anew, which costs page faults.
_FFN_ROWS = 512
# A question, its sub-questions and the code at a cursor have fewer, and all cores; a batch of files has one.
_MOST_ROWS_ASKED = 512


@dataclass(slots=True)
class _Pass:
    """The state of one walk through the layers."""

    x: Float32  # [rows, width]
    offsets: Int64
    cos: Float32
    sin: Float32
    threads: int


class CpuEncoder:
    """Runs `weights` behind a fixed prefix of ids, which is computed once."""

    # One full segment, or many short ones: enough rows for products at full speed, small enough to cancel.
    batch_tokens = 2048
    parallel = True

    def __init__(self, weights: Weights, prefix: Int32) -> None:
        self._weights = weights
        shape = weights.shape
        self._centres = [_centre(layer, shape) for layer in weights.layers]
        nothing = np.empty((0, shape.kv_heads, shape.head_dim), np.float32)
        # Keys (after RoPE) and values that all sequences see, by layer, float32 [P, kv_heads, head_dim].
        self._prefix = [(nothing, nothing)] * shape.layers
        if len(prefix):
            positions = np.arange(len(prefix), dtype=np.int32)
            state = self._start(Batch(prefix, positions, np.array([0, len(prefix)])))
            self._prefix = [self._layer(state, index)[2:] for index in range(shape.layers)]

    def encode(
        self,
        batch: Batch,
        taps: frozenset[int] = frozenset(),
        between_layers: Callable[[], None] | None = None,
    ) -> Encoded:
        """As `Encoder.encode`; allocates about 30 KB a token of the batch."""
        asked = len(batch.ids) <= _MOST_ROWS_ASKED
        return self._encode(self._start(batch, config.NUMBA_NUM_THREADS if asked else 1), taps, between_layers)

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
        return _through(hidden, head)

    def _encode(self, state: _Pass, taps: frozenset[int], between_layers: Callable[[], None] | None) -> Encoded:
        queries, keys = {}, {}
        for index in range(self._weights.shape.layers):
            q, k, _, _ = self._layer(state, index)
            if between_layers is not None:
                between_layers()
            if index in taps:
                queries[index], keys[index] = q, k
        return Encoded(state.x, queries, keys)

    def _start(self, batch: Batch, threads: int = 1) -> _Pass:
        shape = self._weights.shape
        cos, sin = rope_table(batch.positions, shape.head_dim, shape.rope_base)
        return _Pass(self._weights.embedding.rows(batch.ids), batch.offsets, cos, sin, threads)

    def _layer(self, state: _Pass, index: int) -> tuple[Float32, Float32, Float32, Float32]:
        """One decoder layer on `state.x`, in place → q and k before RoPE, k after it and centred, v."""
        layer, shape = self._weights.layers[index], self._weights.shape
        q, k, v = self._project(state, layer)
        turned_q = rope(q, state.cos, state.sin, shape.rope_interleaved)
        turned_k = rope(k, state.cos, state.sin, shape.rope_interleaved) - self._centres[index]
        attention = int16_attention if isinstance(layer.qkv, PackedMatrix) else segment_attention
        mixed = attention(turned_q, turned_k, v, state.offsets, *self._prefix[index])
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
    return int8_gemm(rows, matrix, threads) if isinstance(matrix, PackedMatrix) else rows @ matrix.T


def _gated(rows: Float32, gate_up: Matrix, columns: int, threads: int) -> Float32:
    if isinstance(gate_up, PackedMatrix):
        return int8_swiglu(rows, gate_up, columns, threads)
    return swiglu(rows @ gate_up.T)
