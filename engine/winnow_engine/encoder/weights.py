"""GGUF → the drafter's first layers as float32 matrices, dequantised by ggml."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.ops.int8_products import MATRICES, packed_layer
from winnow_cuda.shapes import Float32, LayerWeights, MatrixForm, TransformerShape, Weights
from winnow_engine.errors import ProfileError, UnsupportedModelError
from winnow_engine.llama.stored_rows import StoredRows, unpacked
from winnow_engine.models.gguf_header import GgufHeader, Scalar, TensorInfo, require_supported

SUPPORTED_ARCHITECTURES = frozenset({"llama", "qwen2", "qwen3"})

EMBEDDING = "token_embd.weight"

_REMEDY = "get it again if it is damaged, or choose another"

Merge = Callable[[str, Float32], Float32]
"""Called with each matrix's name and value; returns the matrix to use (with an adapter's low-rank update, say)."""

Layers = tuple[LayerWeights, ...]
ComputeLayer = Callable[[int], LayerWeights]
Kept = Callable[[int, ComputeLayer], Layers]  # returns so many layers, from a cache if it can


class GgufTensors:
    """The tensors of one GGUF, dequantised on demand from a memory map."""

    def __init__(self, path: Path, header: GgufHeader) -> None:
        # As a plain array: a memmap costs more for each slice.
        self._data = np.memmap(path, np.uint8, mode="r").view(np.ndarray)
        self._tensors = header.tensors

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def info(self, name: str) -> TensorInfo:
        """The place of a tensor. UnsupportedModelError if the model lacks it."""
        if name not in self._tensors:
            raise UnsupportedModelError(f"the model has no tensor {name!r}, which a drafter needs; {_REMEDY}")
        return self._tensors[name]

    def identity(self, layers: int, updated: str) -> str:
        """Names the first `layers` layers as stored, with the update of that identity: 32 characters (0.05 s for 8)."""
        digest = hashlib.sha256(updated.encode())
        blocks = tuple(f"blk.{number}." for number in range(layers))
        for name in sorted(name for name in self._tensors if name.startswith(blocks)):
            digest.update(self.stored(name).data)
        return digest.hexdigest()[:32]

    def stored(self, name: str) -> NDArray[np.uint8]:
        """A tensor's bytes as stored, a view of the file."""
        info = self.info(name)
        return self._data[info.offset : info.offset + info.bytes]

    def read(self, name: str) -> Float32:
        """A tensor as float32, contiguous, in NumPy's dimension order ([out, in] for matrices)."""
        info = self.info(name)
        rows = self.stored(name).reshape(math.prod(info.shape[:-1]), -1)
        return unpacked(rows, info.type).reshape(info.shape)

    def maybe(self, name: str) -> Float32 | None:
        """As `read`, or None where the architecture has no such tensor."""
        return self.read(name) if name in self else None


def shape_of(header: GgufHeader, layers: int) -> TransformerShape:
    """The shape of the first `layers` layers. UnsupportedModelError names the supported architectures."""
    require_supported(header, SUPPORTED_ARCHITECTURES)
    if not 1 <= layers <= header.block_count:
        raise ProfileError(f"the profile wants {layers} layers, the drafter has {header.block_count}")
    if "rope_freqs.weight" in header.tensors or header.values.get(f"{header.architecture}.rope.scaling.type"):
        raise UnsupportedModelError("the drafter scales its rotary embedding, which is not supported: choose another")
    try:
        return _shape(header.values, header.architecture, layers)
    except (KeyError, ValueError) as error:
        raise UnsupportedModelError(f"the model's metadata lacks {error}; {_REMEDY}") from error


def _shape(values: Mapping[str, Scalar], prefix: str, layers: int) -> TransformerShape:
    width, heads = int(values[f"{prefix}.embedding_length"]), int(values[f"{prefix}.attention.head_count"])
    kv_heads = int(values.get(f"{prefix}.attention.head_count_kv", heads))
    if not (heads and kv_heads):
        raise ValueError("attention heads")
    return TransformerShape(
        layers=layers,
        width=width,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=int(values.get(f"{prefix}.attention.key_length", width // heads)),
        ffn_width=int(values[f"{prefix}.feed_forward_length"]),
        rope_base=float(values.get(f"{prefix}.rope.freq_base", 10000.0)),
        rms_eps=float(values[f"{prefix}.attention.layer_norm_rms_epsilon"]),
        rope_interleaved=prefix == "llama",
    )


def unchanged(name: str, value: Float32) -> Float32:
    """A `Merge` without an update."""
    return value


def load_weights(
    path: Path,
    header: GgufHeader,
    layers: int,
    merge: Merge = unchanged,
    kept: Kept | None = None,
    form: MatrixForm = "float32",
) -> Weights:
    """The embedding and the first layers, each matrix through `merge`, in the `form` that an encoder takes."""
    shape = shape_of(header, layers)

    def compute(index: int) -> LayerWeights:
        tensors = GgufTensors(path, header)  # mapped for each layer, so that no others stay in memory
        return _in_form(_layer(tensors, f"blk.{index}", merge), form)

    found = kept(layers, compute) if kept else tuple(map(compute, range(layers)))
    return Weights(shape, StoredRows(path, EMBEDDING), found)


def _in_form(layer: LayerWeights, form: MatrixForm) -> LayerWeights:
    match form:
        case "float32":
            return layer
        case "float16":
            halves: dict[str, Any] = {name: getattr(layer, name).astype(np.float16) for name in MATRICES}
            return replace(layer, **halves)
        case "packed":
            return packed_layer(layer)


def _layer(tensors: GgufTensors, block: str, merge: Merge) -> LayerWeights:
    def matrix(name: str) -> Float32:
        full = f"{block}.{name}.weight"
        return merge(full, tensors.read(full))

    biases = [tensors.maybe(f"{block}.attn_{part}.bias") for part in "qkv"]
    present = [b for b in biases if b is not None]
    return LayerWeights(
        attn_norm=tensors.read(f"{block}.attn_norm.weight"),
        qkv=np.concatenate([matrix("attn_q"), matrix("attn_k"), matrix("attn_v")]),
        qkv_bias=np.concatenate(present) if len(present) == 3 else None,
        q_norm=tensors.maybe(f"{block}.attn_q_norm.weight"),
        k_norm=tensors.maybe(f"{block}.attn_k_norm.weight"),
        attn_output=matrix("attn_output"),
        ffn_norm=tensors.read(f"{block}.ffn_norm.weight"),
        gate_up=np.concatenate([matrix("ffn_gate"), matrix("ffn_up")]),
        ffn_down=matrix("ffn_down"),
    )
