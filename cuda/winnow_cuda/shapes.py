"""What a drafter's layers look like, and what goes through them in one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Int8 = NDArray[np.int8]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TransformerShape:
    """Sizes and constants of a llama-family decoder (qwen2, qwen3 and llama architectures)."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn_width: int
    rope_base: float
    rms_eps: float
    rope_interleaved: bool

    @property
    def group(self) -> int:
        """Query heads per key/value head (GQA)."""
        return self.heads // self.kv_heads

    @property
    def q_width(self) -> int:
        """Columns of the query projection."""
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Columns of the key, and of the value, projection."""
        return self.kv_heads * self.head_dim


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One decoder layer, float32, matrices as [out, in]; query, key and value stacked, gate and up stacked."""

    attn_norm: Float32  # [width]
    qkv: Float32  # [q_width + 2 kv_width, width]
    qkv_bias: Float32 | None  # [q_width + 2 kv_width]
    q_norm: Float32 | None  # [head_dim], qwen3 only
    k_norm: Float32 | None
    attn_output: Float32  # [width, q_width]
    ffn_norm: Float32  # [width]
    gate_up: Float32  # [2 ffn_width, width]
    ffn_down: Float32  # [width, ffn_width]


class EmbeddingTable(Protocol):
    """Rows of the token embedding; a quantised table decodes only the rows asked for."""

    def rows(self, ids: Int32) -> Float32:
        """Embeddings [T, width] of token ids [T]."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A drafter's embedding and its first `shape.layers` layers."""

    shape: TransformerShape
    embedding: EmbeddingTable
    layers: tuple[LayerWeights, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """Sequences packed end to end; each attends to the shared prefix and causally to itself.

    ids and positions are int32 [T]; sequence i is rows offsets[i]:offsets[i+1] (int64 [S+1]).
    """

    ids: Int32
    positions: Int32
    offsets: Int64


@dataclass(frozen=True, slots=True)
class Encoded:
    """What a pass leaves behind.

    hidden: float32 [T, width], the residual stream after the last layer, before any final norm.
    queries and keys: pre-RoPE projections by layer, float32 [T, heads, head_dim] and [T, kv_heads, head_dim],
    for the layers tapped (after QK-norm where the architecture has one).
    """

    hidden: Float32
    queries: dict[int, Float32]
    keys: dict[int, Float32]


class Encoder(Protocol):
    """A drafter's first layers on some device. Safe to call from several threads."""

    def encode(
        self,
        batch: Batch,
        taps: frozenset[int] = frozenset(),
        between_layers: Callable[[], None] | None = None,
    ) -> Encoded:
        """Run `batch`, keeping the queries and keys of layers `taps`; what `between_layers` raises ends the pass."""
