"""Targets with the shape of a large model and random weights, for timing alone.

How fast a model reads depends on its shape and its number formats, not on its weights. What it answers is noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
from numpy.typing import NDArray

from winnow_engine.storage.folders import temporary

_ARCHITECTURE = "qwen35"
_BLOCK_VALUES, _BLOCK_BYTES = 256, 144  # of Q4_K
_MOST_RANDOM_BLOCKS = 1 << 24  # beyond, rows repeat: 2.4 GB of random bytes take longer than the file
_PADDING = {"tokenizer.ggml.tokens": "[PAD{}]", "tokenizer.ggml.token_type": 5, "tokenizer.ggml.scores": 0.0}


@dataclass(frozen=True, slots=True)
class HybridShape:
    """Sizes of a model of llama.cpp's architecture qwen35: three layers of four are recurrent, the fourth attends."""

    layers: int
    width: int
    ffn_width: int
    heads: int
    kv_heads: int
    vocabulary: int
    key_groups: int
    value_groups: int
    head_dim: int = 256
    state: int = 128
    context: int = 262144

    def attends(self, layer: int) -> bool:
        """Whether a layer attends to all tokens before."""
        return (layer + 1) % 4 == 0


SHAPES: Mapping[str, HybridShape] = {"qwen3.6-27b": HybridShape(64, 5120, 17408, 24, 4, 248320, 16, 48)}
"""14.2 GiB in Q4_K, written in 11 s."""


def write_synthetic(shape: HybridShape, tokenizer: Path, into: Path) -> None:
    """Write a model with random weights in Q4_K and the tokenizer and chat template of another GGUF file.

    Its vocabulary is padded with unused tokens. The file appears whole or not at all.
    """
    into.parent.mkdir(parents=True, exist_ok=True)
    with temporary(into.parent) as unfinished:
        writer = GGUFWriter(unfinished, _ARCHITECTURE)
        _describe(writer, shape)
        _copy_tokenizer(GGUFReader(tokenizer), writer, shape.vocabulary)
        _Tensors(writer).add_all(shape)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        unfinished.rename(into)


def _describe(writer: GGUFWriter, shape: HybridShape) -> None:
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.ffn_width)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e7)
    writer.add_rope_dimension_count(64)
    writer.add_array(f"{_ARCHITECTURE}.rope.dimension_sections", [11, 11, 10, 0])
    writer.add_vocab_size(shape.vocabulary)
    inner = shape.value_groups * shape.state
    for name, value in {
        "full_attention_interval": 4,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": inner,
        "ssm.state_size": shape.state,
        "ssm.time_step_rank": shape.value_groups,
        "ssm.group_count": shape.key_groups,
    }.items():
        writer.add_uint32(f"{_ARCHITECTURE}.{name}", value)


def _copy_tokenizer(reader: GGUFReader, writer: GGUFWriter, vocabulary: int) -> None:
    for name, value in reader.fields.items():
        if name.startswith("tokenizer."):
            inner = value.types[-1] if value.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(name, _padded(name, value.contents(), vocabulary), value.types[0], inner)


def _padded(name: str, value: Any, vocabulary: int) -> Any:
    """A value of the tokenizer; one with an entry for each token is filled up to the vocabulary's size."""
    filler = _PADDING.get(name)
    if filler is None:
        return value
    missing = vocabulary - len(value)
    return [*value, *(filler.format(n) if isinstance(filler, str) else filler for n in range(missing))]


@dataclass
class _Tensors:
    """Adds tensors to a file. Matrices of one shape are one array, so that a 27B model takes 1.2 GB of memory."""

    writer: GGUFWriter
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    _matrices: dict[tuple[int, int], NDArray[np.uint8]] = field(default_factory=dict)

    def add_all(self, shape: HybridShape) -> None:
        """Every tensor of a model."""
        self._matrix("token_embd.weight", shape.vocabulary, shape.width)
        self._constant("output_norm.weight", shape.width)
        self._matrix("output.weight", shape.vocabulary, shape.width)
        for layer in range(shape.layers):
            prefix = f"blk.{layer}."
            self._constant(f"{prefix}attn_norm.weight", shape.width)
            self._constant(f"{prefix}post_attention_norm.weight", shape.width)
            add = self._attention if shape.attends(layer) else self._recurrence
            add(prefix, shape)
            self._matrix(f"{prefix}ffn_gate.weight", shape.ffn_width, shape.width)
            self._matrix(f"{prefix}ffn_up.weight", shape.ffn_width, shape.width)
            self._matrix(f"{prefix}ffn_down.weight", shape.width, shape.ffn_width)

    def _attention(self, prefix: str, shape: HybridShape) -> None:
        inner, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        self._matrix(f"{prefix}attn_q.weight", 2 * inner, shape.width)  # with a gate
        self._matrix(f"{prefix}attn_k.weight", keys, shape.width)
        self._matrix(f"{prefix}attn_v.weight", keys, shape.width)
        self._matrix(f"{prefix}attn_output.weight", shape.width, inner)
        self._constant(f"{prefix}attn_q_norm.weight", shape.head_dim)
        self._constant(f"{prefix}attn_k_norm.weight", shape.head_dim)

    def _recurrence(self, prefix: str, shape: HybridShape) -> None:
        inner = shape.value_groups * shape.state
        channels = 2 * shape.key_groups * shape.state + inner
        self._matrix(f"{prefix}attn_qkv.weight", channels, shape.width)
        self._matrix(f"{prefix}attn_gate.weight", inner, shape.width)
        self._normal(f"{prefix}ssm_conv1d.weight", channels, 4, 0.3)
        self._constant(f"{prefix}ssm_dt.bias", shape.value_groups, -3.0)
        self._constant(f"{prefix}ssm_a", shape.value_groups, -1.0)
        self._normal(f"{prefix}ssm_beta.weight", shape.value_groups, shape.width, 0.02)
        self._normal(f"{prefix}ssm_alpha.weight", shape.value_groups, shape.width, 0.02)
        self._constant(f"{prefix}ssm_norm.weight", shape.state)
        self._matrix(f"{prefix}ssm_out.weight", shape.width, inner)

    def _matrix(self, name: str, rows: int, columns: int) -> None:
        if (rows, columns) not in self._matrices:
            self._matrices[rows, columns] = self._random_q4k(rows, columns)
        self.writer.add_tensor(name, self._matrices[rows, columns], raw_dtype=GGMLQuantizationType.Q4_K)

    def _random_q4k(self, rows: int, columns: int) -> NDArray[np.uint8]:
        """Random blocks of Q4_K whose scales keep a product's variance."""
        a_row = columns // _BLOCK_VALUES
        distinct = 1 if rows * a_row > _MOST_RANDOM_BLOCKS else rows
        blocks = np.empty((rows, a_row, _BLOCK_BYTES), np.uint8)
        blocks[...] = self.random.integers(0, 256, (distinct, a_row, _BLOCK_BYTES), np.uint8)
        scale = 1.0 / np.sqrt(columns) / 63 / 8
        blocks[..., 0:4] = np.array([scale, 7.5 * scale], np.float16).view(np.uint8)
        return blocks.reshape(rows, a_row * _BLOCK_BYTES)

    def _constant(self, name: str, length: int, value: float = 1.0) -> None:
        self.writer.add_tensor(name, np.full(length, value, np.float32))

    def _normal(self, name: str, rows: int, columns: int, deviation: float) -> None:
        self.writer.add_tensor(name, self.random.normal(0, deviation, (rows, columns)).astype(np.float32))
