"""The CPU encoder: a drafter's first layers over packed sequences, dense products in BLAS, the rest in Numba.

Several threads may use one encoder at once: nothing in it changes after construction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from winnow_cuda.cpu.readout import read_keys
from winnow_cuda.cpu.shared_rows import Rows, shared_rows
from winnow_cuda.ops.attention import segment_attention
from winnow_cuda.ops.rms_norm import rms_norm
from winnow_cuda.ops.rope import rope, rope_table
from winnow_cuda.ops.swiglu import swiglu
from winnow_cuda.shapes import Batch, Encoded, Float32, Int32, Int64, Keys, LayerWeights, Weights

# Rows of the feed-forward block taken at once: its 9,728-wide activations stay in cache, and below the size from which
# malloc maps every buffer anew, which costs page faults.
_FFN_ROWS = 512


@dataclass(frozen=True, slots=True)
class _PrefixLayer:
    """Keys (after RoPE) and values of the shared prefix in one layer, float32 [P, kv_heads, head_dim]."""

    keys: Float32
    values: Float32


@dataclass(slots=True)
class _Pass:
    """The state of one walk through the layers. `places` has the row of `x` for each row of the batch."""

    x: Float32  # [rows, width]
    rows: Rows
    places: Rows
    offsets: Int64
    cos: Float32
    sin: Float32
    prefix: list[_PrefixLayer]


class CpuEncoder:
    """Runs `weights` behind a fixed prefix of token ids, whose keys and values are computed once."""

    # One full segment, or many short ones: enough rows to keep BLAS at speed, small enough to cancel.
    batch_tokens = 2048
    parallel = True

    def __init__(self, weights: Weights, prefix: Int32) -> None:
        self._weights = weights
        shape = weights.shape
        nothing = np.empty((0, shape.kv_heads, shape.head_dim), np.float32)
        self._prefix = self._nothing = [_PrefixLayer(nothing, nothing)] * shape.layers
        if len(prefix):
            positions = np.arange(len(prefix), dtype=np.int32)
            self._prefix = self._prefix_layers(Batch(prefix, positions, np.array([0, len(prefix)])))

    def encode(
        self,
        batch: Batch,
        taps: frozenset[int] = frozenset(),
        between_layers: Callable[[], None] | None = None,
    ) -> Encoded:
        """As `Encoder.encode`; allocates about 30 KB a token of the batch."""
        state, queries, keys = self._start(batch), {}, {}
        for index, (layer, prefix) in enumerate(zip(self._weights.layers, state.prefix, strict=True)):
            q, k, _, _ = self._layer(state, layer, prefix)
            if between_layers is not None:
                between_layers()
            if index in taps:
                queries[index], keys[index] = q[state.places], k[state.places]
        return Encoded(state.x[state.places], queries, keys)

    def encode_keys(self, batch: Batch, runs: Int32, between_layers: Callable[[], None] | None = None) -> Keys:
        """As `Encoder.encode_keys`."""
        assert self._weights.readout is not None
        return read_keys(self.encode(batch, between_layers=between_layers).hidden, runs, self._weights.readout)

    def _start(self, batch: Batch) -> _Pass:
        shape, (rows, places) = self._weights.shape, shared_rows(batch)
        cos, sin = rope_table(batch.positions[rows], shape.head_dim, shape.rope_base)
        prefix = self._prefix if batch.sparse is None else self._nothing
        return _Pass(self._weights.embedding.rows(batch.ids[rows]), rows, places, batch.offsets, cos, sin, prefix)

    def _prefix_layers(self, batch: Batch) -> list[_PrefixLayer]:
        state, found = self._start(batch), []
        for layer, nothing in zip(self._weights.layers, self._prefix, strict=True):
            _, _, turned, v = self._layer(state, layer, nothing)
            found.append(_PrefixLayer(turned, v))
        return found

    def _layer(
        self, state: _Pass, layer: LayerWeights, prefix: _PrefixLayer
    ) -> tuple[Float32, Float32, Float32, Float32]:
        """One decoder layer on `state.x`, in place → q and k before RoPE, k after it, v."""
        shape, places = self._weights.shape, state.places
        q, k, v = self._project(state.x, layer)
        turned_q = rope(q, state.cos, state.sin, shape.rope_interleaved)
        turned_k = rope(k, state.cos, state.sin, shape.rope_interleaved)
        packed = (turned_q[places], turned_k[places], v[places])
        mixed = segment_attention(*packed, state.offsets, prefix.keys, prefix.values)[state.rows]
        state.x += mixed.reshape(len(mixed), shape.q_width) @ layer.attn_output.T
        for start in range(0, len(state.x), _FFN_ROWS):
            rows = state.x[start : start + _FFN_ROWS]
            rows += swiglu(rms_norm(rows, layer.ffn_norm, shape.rms_eps) @ layer.gate_up.T) @ layer.ffn_down.T
        return q, k, turned_k, v

    def _project(self, x: Float32, layer: LayerWeights) -> tuple[Float32, Float32, Float32]:
        """Queries [T, heads, D], keys and values [T, kv_heads, D] of the normalised rows."""
        shape = self._weights.shape
        qkv = rms_norm(x, layer.attn_norm, shape.rms_eps) @ layer.qkv.T
        if layer.qkv_bias is not None:
            qkv += layer.qkv_bias
        parts = np.split(qkv, [shape.q_width, shape.q_width + shape.kv_width], axis=1)
        q, k, v = (np.ascontiguousarray(p).reshape(len(x), p.shape[1] // shape.head_dim, shape.head_dim) for p in parts)
        if layer.q_norm is not None and layer.k_norm is not None:
            q, k = rms_norm(q, layer.q_norm, shape.rms_eps), rms_norm(k, layer.k_norm, shape.rms_eps)
        return q, k, v
