"""A trained draft as files: those that the engine reads, and the one that ships, of which it makes these."""

from __future__ import annotations

import ctypes
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gguf import GGMLQuantizationType
from gguf.constants import GGML_QUANT_SIZES
from llama_cpp import llama_cpp as bindings
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from winnow_engine.encoder.weights import GgufTensors
from winnow_engine.models.gguf_header import read_header
from winnow_engine.targets.drafts.block_file import LAYERS, BlockShape, Stored, write_block
from winnow_engine.targets.drafts.shipped import ABOUT, FILE, METADATA, TABLES

if TYPE_CHECKING:
    from torch import Tensor

    from winnow_research.training.draft.network import DraftNetwork

_KIND = GGMLQuantizationType.Q4_K
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
    network: DraftNetwork, tokens: NDArray[np.int32], target: Path, out: Path, kind: GGMLQuantizationType = _KIND
) -> None:
    """Write `out`, with matrices of the type `kind`, and a `.safetensors` beside it.

    Our builds of llama.cpp have products for few tokens of Q4_K, and not of Q8_0: on two cores with AVX-512 three
    guesses take half as long. Rows that its blocks do not divide are Q8_0. `tokens` are the target's that the draft
    knows, whose output rows `target` lends.
    """
    values = dict(network.named_parameters())
    layers: dict[str, Stored] = {"output_norm.weight": (_float(values["output_norm"]), GGMLQuantizationType.F32)}
    for layer in range(network.shape.layers):
        for ours, theirs in _MATRICES.items():
            layers[f"blk.{layer}.{theirs}.weight"] = quantised(_float(values[f"layers.{layer}.{ours}"]), kind)
        for ours, theirs in _NORMS.items():
            norm = _float(values[f"layers.{layer}.{ours}"])
            layers[f"blk.{layer}.{theirs}.weight"] = norm, GGMLQuantizationType.F32
    fuse = _float(values["fuse"]) * _float(values["feature_norm"]).reshape(1, -1)
    tables: dict[str, NDArray[Any]] = {
        "tokens": tokens.astype(np.int32),
        "fuse": fuse.astype(np.float16),
        "embedding": _float(values["embedding_norm"]),
        "masks": _float(values["masks"]),
        "before": _float(values["before"]).astype(np.float16),
        "after": _float(values["after"]).astype(np.float16),
    }
    write_block(out, network.shape, layers, tables, target)


def ship(draft: Path, folder: Path) -> None:
    """Write what ships of a trained draft, its GGUF with the `.safetensors` beside it, into `folder`.

    Its matrices become Q4_K, or Q8_0 as in `export`. Raises what reading a draft does, and OSError.
    """
    header, tables = read_header(draft), load_file(draft.with_suffix(".safetensors"))
    tensors = GgufTensors(draft, header)
    shape = _shape_of(header.values, tables)
    stored: dict[str, NDArray[Any]] = {name: tables[name] for name in TABLES}
    types: dict[str, int] = {}
    matrices = {name: tables[name].astype(np.float32) for name in ("fuse", "before", "after")}
    for name in header.tensors:
        if name != "token_embd.weight":
            value = tensors.read(name)
            if value.ndim == 1:
                stored[name] = value
            else:
                matrices[name] = value
    for name, matrix in matrices.items():
        stored[name], kind = quantised(np.ascontiguousarray(matrix), _KIND)
        types[name] = int(kind)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(stored, folder / FILE, {METADATA: json.dumps({"shape": asdict(shape), "types": types})})
    digest = hashlib.sha256((folder / FILE).read_bytes()).hexdigest()
    (folder / ABOUT).write_text(json.dumps({"sha256": digest}, indent=1) + "\n", "utf-8")


def _shape_of(metadata: Mapping[str, Any], tables: Mapping[str, NDArray[Any]]) -> BlockShape:
    def value(key: str) -> Any:
        return metadata[f"qwen3.{key}"]

    return BlockShape(
        layers_read=tuple(map(int, str(metadata[LAYERS]).split(","))),
        width=value("embedding_length"),
        heads=value("attention.head_count"),
        kv_heads=value("attention.head_count_kv"),
        head_dim=value("attention.key_length"),
        ffn=value("feed_forward_length"),
        vocabulary=len(tables["tokens"]),
        layers=value("block_count"),
        block=len(tables["masks"]) + 1,
        rank=tables["after"].shape[1],
        rope_base=metadata.get("qwen3.rope.freq_base", 1e4),
        eps=value("attention.layer_norm_rms_epsilon"),
    )


def quantised(matrix: NDArray[np.float32], kind: GGMLQuantizationType) -> Stored:
    """The matrix as ggml quantises it: to `kind`, to Q8_0 where a row has no whole blocks of that, or not at all."""
    rows, columns = matrix.shape
    for each in (kind, GGMLQuantizationType.Q8_0):
        block, size = GGML_QUANT_SIZES[each]
        if columns % block == 0:
            stored = np.empty((rows, columns // block * size), np.uint8)
            function = bindings._lib.ggml_quantize_chunk
            function.restype = ctypes.c_size_t
            function.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3, ctypes.c_void_p]
            written = function(each, matrix.ctypes.data, stored.ctypes.data, 0, rows, columns, None)
            assert written == stored.nbytes, "ggml does not quantise to this type"
            return stored, each
    return matrix, GGMLQuantizationType.F32


def _float(value: Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(value.detach().float().cpu().numpy())
