"""A trained draft as the engine reads it: a GGUF of Qwen3 layers, and a file with what stands around them."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.constants import GGML_QUANT_SIZES
from llama_cpp import llama_cpp as bindings
from numpy.typing import NDArray
from safetensors.numpy import save_file
from torch import Tensor

from winnow_engine.drafter.weights import GgufTensors
from winnow_engine.models.gguf_header import read_header
from winnow_engine.targets.drafts.base import METHOD_KEY
from winnow_engine.targets.drafts.block import LAYERS, NAME
from winnow_research.training.draft.network import DraftNetwork, DraftShape

_MATRICES = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "output": "attn_output",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}
_NORMS = {"attn_norm": "attn_norm", "ffn_norm": "ffn_norm", "q_norm": "attn_q_norm", "k_norm": "attn_k_norm"}


def export(
    network: DraftNetwork,
    tokens: NDArray[np.int32],
    target: Path,
    out: Path,
    kind: GGMLQuantizationType = GGMLQuantizationType.Q6_K,
) -> None:
    """Write `out`, with matrices of the type `kind`, and a `.safetensors` beside it.

    Our builds of llama.cpp have products for few tokens of Q6_K, and not of Q8_0: on two cores with AVX-512 three
    guesses take half as long. Rows that its blocks do not divide are Q8_0. `tokens` are the target's that the draft
    knows, whose output rows `target` lends.
    """
    shape, values = network.shape, dict(network.named_parameters())
    writer = GGUFWriter(out, "qwen3")
    _describe(writer, shape)
    stored = GgufTensors(target, read_header(target))
    head = "output.weight" if "output.weight" in stored else "token_embd.weight"
    rows = np.ascontiguousarray(stored.stored_rows(head)[tokens])
    writer.add_tensor("token_embd.weight", rows, raw_dtype=stored.info(head).type)
    writer.add_tensor("output_norm.weight", _float(values["output_norm"]))
    for layer in range(shape.layers):
        for ours, theirs in _MATRICES.items():
            data, stored_as = quantised(_float(values[f"layers.{layer}.{ours}"]), kind)
            writer.add_tensor(f"blk.{layer}.{theirs}.weight", data, raw_dtype=stored_as)
        for ours, theirs in _NORMS.items():
            writer.add_tensor(f"blk.{layer}.{theirs}.weight", _float(values[f"layers.{layer}.{ours}"]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    fuse = _float(values["fuse"]) * _float(values["feature_norm"]).reshape(1, -1)
    save_file(
        {
            "tokens": tokens.astype(np.int32),
            "fuse": fuse.astype(np.float16),
            "embedding": _float(values["embedding_norm"]),
            "masks": _float(values["masks"]),
            "before": _float(values["before"]).astype(np.float16),
            "after": _float(values["after"]).astype(np.float16),
        },
        out.with_suffix(".safetensors"),
    )


def quantised(
    matrix: NDArray[np.float32], kind: GGMLQuantizationType
) -> tuple[NDArray[np.uint8], GGMLQuantizationType]:
    """The matrix as ggml quantises it, and its type: `kind`, or Q8_0 where a row has no whole blocks of that."""
    block, size = GGML_QUANT_SIZES[kind]
    rows, columns = matrix.shape
    if columns % block:
        return quantised(matrix, GGMLQuantizationType.Q8_0)
    function = bindings._lib.ggml_quantize_chunk
    function.restype = ctypes.c_size_t
    function.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3, ctypes.c_void_p]
    stored = np.empty((rows, columns // block * size), np.uint8)
    written = function(kind, matrix.ctypes.data, stored.ctypes.data, 0, rows, columns, None)
    assert written == stored.nbytes, "ggml does not quantise to this type"
    return stored, kind


def _describe(writer: GGUFWriter, shape: DraftShape) -> None:
    writer.add_string(METHOD_KEY, NAME)
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


def _float(value: Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(value.detach().float().cpu().numpy())
