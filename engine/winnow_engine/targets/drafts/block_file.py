"""Writes the files of a block draft: a GGUF of Qwen3 layers for llama.cpp, and what stands around these beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from gguf.constants import GGMLQuantizationType
from numpy.typing import NDArray
from safetensors.numpy import save_file

from winnow_engine.llama.model import LlamaModel
from winnow_engine.models.gguf_header import read_header
from winnow_engine.storage.folders import temporary

if TYPE_CHECKING:
    from gguf import GGUFWriter

    from winnow_cuda.shapes import TransformerShape

METHOD_KEY, METHOD = "winnow.draft.method", "winnow-block"
"""Metadata of a draft, whose layers are those of an ordinary architecture."""
LAYERS = "winnow.draft.layers"
"""Metadata: the target's layers whose inputs are read, numbers with commas between."""

Stored: TypeAlias = tuple[NDArray[Any], GGMLQuantizationType]
"""A tensor as a GGUF stores it, [rows, bytes] where it is quantised, and its type."""


@dataclass(frozen=True, slots=True)
class BlockShape:
    """The sizes of a draft. `layers_read` are the target's layers whose inputs it reads; `block` counts guesses."""

    layers_read: tuple[int, ...]
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocabulary: int
    layers: int = 2
    block: int = 16
    rank: int = 256
    rope_base: float = 1e6
    eps: float = 1e-6

    @classmethod
    def of(cls, target: TransformerShape, tokens: int, layers: int = 2) -> BlockShape:
        """A draft of so many layers for a target of 7 layers or more with so many tokens."""
        read = target.layers // 7, target.layers // 2 + 1, target.layers - 2
        heads = target.heads, target.kv_heads, target.head_dim
        vocabulary = min(16_384, tokens)
        return cls(read, target.width, *heads, ffn=2 * target.width, vocabulary=vocabulary, layers=layers)


def is_draft(model: LlamaModel) -> bool:
    """Whether a model is a draft, which answers nothing by itself."""
    return model.metadata(METHOD_KEY) == METHOD


def write_block(
    out: Path, shape: BlockShape, layers: Mapping[str, Stored], tables: Mapping[str, NDArray[Any]], target: Path
) -> None:
    """Write `out`, last and whole, and the `.safetensors` beside it; `target` lends rows of the output matrix."""
    from gguf import GGUFWriter

    from winnow_engine.encoder.weights import GgufTensors  # here, since Numba comes with it

    stored = GgufTensors(target, read_header(target))
    head = "output.weight" if "output.weight" in stored else "token_embd.weight"
    info = stored.info(head)
    rows = np.ascontiguousarray(stored.stored(head).reshape(info.shape[0], -1)[tables["tokens"]])
    with temporary(out.parent) as part, temporary(out.parent) as beside:
        writer = GGUFWriter(part, "qwen3")
        _describe(writer, shape)
        for name, (data, kind) in {"token_embd.weight": (rows, info.type), **layers}.items():
            writer.add_tensor(name, data, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        save_file(dict(tables), beside)
        beside.replace(out.with_suffix(".safetensors"))
        part.replace(out)


def _describe(writer: GGUFWriter, shape: BlockShape) -> None:
    writer.add_string(METHOD_KEY, METHOD)
    writer.add_string(LAYERS, ",".join(map(str, shape.layers_read)))
    writer.add_context_length(32_768)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_layer_norm_rms_eps(shape.eps)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_tokenizer_model("none")
