"""Targets with the shape of a large model and random weights, for timing alone.

How fast a model reads depends on its shape and its number formats, not on its weights. What it answers is noise.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGML_QUANT_SIZES, GGUFReader, GGUFValueType, GGUFWriter
from gguf import GGMLQuantizationType as Type
from numpy.typing import NDArray

from winnow_engine.storage.folders import temporary

_TOKENS = 64.0  # deviation of the embedding: what layers add is alike for all tokens, which should use other experts
_MOST_RANDOM_BYTES = 2 << 30  # beyond, rows repeat: random bytes take longer than the file
_PADDING = {"tokenizer.ggml.tokens": "[PAD{}]", "tokenizer.ggml.token_type": 5, "tokenizer.ggml.scores": 0.0}


@dataclass(frozen=True, slots=True)
class Shape:
    """An architecture and the numbers of its metadata. `tied`: the embedding is the output matrix, too.

    Of qwen35 three layers of four are recurrent. gpt-oss has biases and attention sinks. Weights are in Q4_K, gpt-oss's
    in MXFP4 (experts) and Q8_0.
    """

    architecture: str
    numbers: Mapping[str, int]
    tied: bool = False


_TABLE = Path(__file__).with_name("shapes.toml")
SHAPES = {name: Shape(**entry) for name, entry in tomllib.loads(_TABLE.read_text("utf-8")).items()}
"""The largest has 16 GiB."""


def write_synthetic(shape: Shape, tokenizer: Path, into: Path) -> None:
    """Write a model with random weights and the tokenizer and chat template of another GGUF file.

    Its vocabulary is padded with unused tokens. The file appears whole or not at all.
    """
    into.parent.mkdir(parents=True, exist_ok=True)
    with temporary(into.parent) as unfinished:
        writer = GGUFWriter(unfinished, shape.architecture)
        _describe(writer, shape)
        _copy_tokenizer(GGUFReader(tokenizer), writer, shape.numbers["vocab_size"])
        _Tensors(writer, shape).add_all()
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        unfinished.rename(into)


def _describe(writer: GGUFWriter, shape: Shape) -> None:
    for name, value in shape.numbers.items():
        writer.add_uint32(f"{shape.architecture}.{name}", value)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e7)
    if shape.architecture == "qwen35":
        writer.add_array(f"{shape.architecture}.rope.dimension_sections", [11, 11, 10, 0])


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
    shape: Shape
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    _prefix: str = ""
    _matrices: dict[tuple[tuple[int, ...], float], NDArray[np.uint8]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._oss, self._hybrid = self.shape.architecture == "gpt-oss", self.shape.architecture == "qwen35"

    def add_all(self) -> None:
        """Every tensor of a model."""
        width, vocabulary = self._sizes("embedding_length", "vocab_size")
        self._matrix("token_embd", vocabulary, width, deviation=_TOKENS)
        if not self.shape.tied:
            self._matrix("output", vocabulary, width)
        self._constant("output_norm.weight", width)
        for layer in range(*self._sizes("block_count")):
            self._prefix = f"blk.{layer}."
            self._constant("attn_norm.weight", width)
            self._constant(f"{'post_attention' if self._oss or self._hybrid else 'ffn'}_norm.weight", width)
            (self._recurrence if self._hybrid and (layer + 1) % 4 else self._attention)(width)
            self._feed(width)

    def _sizes(self, *names: str) -> list[int]:
        return [self.shape.numbers.get(name, 0) for name in names]

    def _attention(self, width: int) -> None:
        names = ("head_count", "head_count_kv", "key_length")
        heads, kv_heads, size = self._sizes(*(f"attention.{name}" for name in names))
        self._biased("attn_q", (2 if self._hybrid else 1) * heads * size, width)  # a hybrid has a gate
        self._biased("attn_k", kv_heads * size, width)
        self._biased("attn_v", kv_heads * size, width)
        self._biased("attn_output", width, heads * size)
        for name in ("attn_sinks",) if self._oss else ("attn_q_norm", "attn_k_norm"):
            self._constant(f"{name}.weight", heads if self._oss else size)

    def _recurrence(self, width: int) -> None:
        names = ("inner_size", "state_size", "group_count", "time_step_rank")
        inner, state, keys, values = self._sizes(*(f"ssm.{name}" for name in names))
        channels = 2 * keys * state + inner
        self._matrix("attn_qkv", channels, width)
        self._matrix("attn_gate", inner, width)
        self._matrix("ssm_out", width, inner)
        self._normal("ssm_conv1d", channels, 4, 0.3)
        self._normal("ssm_beta", values, width, 0.02)
        self._normal("ssm_alpha", values, width, 0.02)
        for name, length, value in (("ssm_dt.bias", values, -3), ("ssm_a", values, -1), ("ssm_norm.weight", state, 1)):
            self._constant(name, length, value)

    def _feed(self, width: int) -> None:
        between, experts = self._sizes("feed_forward_length", "expert_count")
        lead, suffix = ((experts,), "_exps") if experts else ((), "")
        self._biased(f"ffn_gate{suffix}", *lead, between, width)
        self._biased(f"ffn_up{suffix}", *lead, between, width)
        self._biased(f"ffn_down{suffix}", *lead, width, between)
        if experts:
            self._normal("ffn_gate_inp", experts, width, width**-0.5)
        if self._oss:
            self._constant("ffn_gate_inp.bias", experts, 0)

    def _biased(self, name: str, *sizes: int) -> None:
        self._matrix(name, *sizes)
        if self._oss:
            self.writer.add_tensor(f"{self._prefix}{name}.bias", np.zeros(sizes[:-1], np.float32))

    def _matrix(self, name: str, *sizes: int, deviation: float = 0.0) -> None:
        """A matrix whose products keep the variance, or one with that deviation."""
        kind = (Type.MXFP4 if len(sizes) == 3 else Type.Q8_0) if self._oss else Type.Q4_K
        key = sizes, deviation
        if key not in self._matrices:
            rows, columns = math.prod(sizes[:-1]), sizes[-1]
            self._matrices[key] = self._random(kind, rows, columns, deviation or columns**-0.5).reshape(*sizes[:-1], -1)
        self.writer.add_tensor(f"{self._prefix}{name}.weight", self._matrices[key], raw_dtype=kind)

    def _random(self, kind: Type, rows: int, columns: int, scale: float) -> NDArray[np.uint8]:
        values, size = GGML_QUANT_SIZES[kind]
        blocks = np.empty((rows, columns // values, size), np.uint8)
        distinct = 1 if blocks.nbytes > _MOST_RANDOM_BYTES else rows
        blocks[...] = self.random.integers(0, 256, (distinct, *blocks.shape[1:]), np.uint8)
        scales = [scale / 74] if kind is Type.Q8_0 else [scale / 504, scale / 67]
        if kind is Type.MXFP4:
            blocks[..., 0] = 127 + round(math.log2(scale / 2.9))  # the exponent of values up to 6
        else:
            blocks[..., : 2 * len(scales)] = np.array(scales, np.float16).view(np.uint8)
        return blocks.reshape(rows, -1)

    def _constant(self, name: str, length: int, value: float = 1.0) -> None:
        self.writer.add_tensor(f"{self._prefix}{name}", np.full(length, value, np.float32))

    def _normal(self, name: str, rows: int, columns: int, deviation: float) -> None:
        values = self.random.normal(0, deviation, (rows, columns)).astype(np.float32)
        self.writer.add_tensor(f"{self._prefix}{name}.weight", values)
