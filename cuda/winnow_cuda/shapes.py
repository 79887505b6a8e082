"""The sizes and weights of a drafter's layers, and what one call passes through them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Float16 = NDArray[np.float16]
Float32 = NDArray[np.float32]
Int8 = NDArray[np.int8]
Int16 = NDArray[np.int16]
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
class PackedMatrix:
    """A matrix [N, K] for `ops/int8_products.py`, in panels of 32 rows, side by side."""

    codes: NDArray[np.uint8] | Int16  # [panels, chunks, words, 128 or 64]: the columns of a chunk by four or two
    scales: Float32  # [chunks, N]


Matrix = Float32 | PackedMatrix
MatrixForm = Literal["float32", "float16", "packed"]
"""Forms of matrices: float16 only for an encoder that never leaves its device, packed for this processor."""


def plain(matrix: Matrix) -> Float32:
    """A matrix that must not be packed."""
    assert not isinstance(matrix, PackedMatrix), "it was packed for a processor"
    return matrix


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One decoder layer; matrices [out, in] of one form, q, k, v stacked, gate and up; vectors float32."""

    attn_norm: Float32  # [width]
    qkv: Matrix  # [q_width + 2 kv_width, width]
    qkv_bias: Float32 | None  # [q_width + 2 kv_width]
    q_norm: Float32 | None  # [head_dim], qwen3 only
    k_norm: Float32 | None
    attn_output: Matrix  # [width, q_width]
    ffn_norm: Float32  # [width]
    gate_up: Matrix  # [2 ffn_width, width]
    ffn_down: Matrix  # [width, ffn_width]


class EmbeddingTable(Protocol):
    """The token embedding. A quantised table decodes only the rows asked for."""

    def __len__(self) -> int:
        """The size of the vocabulary in tokens."""

    def rows(self, ids: Int32) -> Float32:
        """Embeddings [T, width] of token ids [T]."""


@dataclass(frozen=True, slots=True)
class KeyHead:
    """A trained linear head on standardised hidden states (`ops/elementwise.py`): matrix · x̂, all float32."""

    matrix: Float32  # [columns, width]
    mean: Float32  # [width]
    deviation: Float32


@dataclass(frozen=True, slots=True)
class Readout:
    """Heads for keys: token has 64 columns; unit 256, added to its unit's vector, and a logit of the weight."""

    token: KeyHead
    unit: KeyHead


@dataclass(frozen=True, slots=True)
class Weights:
    """A drafter's embedding, first `shape.layers` layers, trained readout, and head `rows` (`RowEncoder`)."""

    shape: TransformerShape
    embedding: EmbeddingTable
    layers: tuple[LayerWeights, ...]
    readout: Readout | None = None
    rows: KeyHead | None = None


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
    """The results of a pass.

    hidden: float32 [T, width], the residual stream after the last layer, before any final norm.
    queries and keys: pre-RoPE projections by layer, float32 [T, heads, head_dim] and [T, kv_heads, head_dim],
    for the layers tapped (after QK-norm where the architecture has one).
    """

    hidden: Float32
    queries: dict[int, Float32]
    keys: dict[int, Float32]


@dataclass(frozen=True, slots=True)
class Keys:
    """The readout of R runs with S rows (`ops/readout.py`): codes int8 [S, 64] and scales float32 [S] by row, and sums
    float32 [R, 256] by run."""

    codes: Int8
    scales: Float32
    sums: Float32


def rows_of(runs: Int32 | Int64) -> Int64:
    """The row numbers of all runs in turn, int64 [S]."""
    return np.concatenate([np.arange(start, stop) for start, stop in runs] or [np.empty(0, np.int64)])


def runs_between(offsets: Int64) -> Int64:
    """Runs that follow each other: run u is rows offsets[u]:offsets[u+1] of offsets int64 [U+1]; int64 [U, 2]."""
    return np.stack([offsets[:-1], offsets[1:]], axis=1)


class Encoder(Protocol):
    """A drafter's first layers, thread-safe; `parallel` says whether concurrent calls are faster."""

    batch_tokens: int  # to encode in one call
    parallel: bool

    def encode(
        self,
        batch: Batch,
        taps: frozenset[int] = frozenset(),
        between_layers: Callable[[], None] | None = None,
    ) -> Encoded:
        """Run `batch` and keep the queries and keys of layers `taps`. What `between_layers` raises ends the pass."""

    def encode_keys(self, batch: Batch, runs: Int32, between_layers: Callable[[], None] | None = None) -> Keys:
        """Run `batch` and read the keys of rows runs[r, 0]:runs[r, 1] (int32 [R, 2], in ascending order, each within
        one sequence). Only for weights with a readout."""


class RowEncoder(Protocol):
    """Layers on some device, thread-safe, and a head that reads every row; `batch_tokens` for one call."""

    batch_tokens: int

    def encode_rows(self, batch: Batch, between_layers: Callable[[], None] | None = None) -> Float32:
        """Run `batch` → head `rows` of every row, float32 [T, columns]. What `between_layers` raises ends it."""
