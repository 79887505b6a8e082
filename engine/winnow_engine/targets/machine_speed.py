"""How fast this machine's processor computes models: measured on small ones of random weights, once, in three seconds.

The time that counts is the threads' own, so that other programs' load is not taken for the machine's speed.
"""

from __future__ import annotations

import json
import math
import time
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import gguf
import llama_cpp
import numpy as np
from gguf import GGMLQuantizationType as Type
from numpy.typing import NDArray

from winnow_engine.config import TargetOptions
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.model import LlamaModel
from winnow_engine.models.target_table import KnownTarget
from winnow_engine.storage.folders import cache_folder

_BATCH, _TOKENS_OUT = 256, 8
_LAYERS, _HEAD, _KV_HEADS, _EXPERTS, _USED = 5, 64, 2, 16, 2
# Seconds that a layer takes beside the products with weights: for a token of a prompt, and of the answer, there and in
# the small models. Fitted to three models on two cores of an EPYC with AVX-512.
_PROMPT_LAYER_S, _LAYER_S, _SMALL_LAYER_S = 2e-5, 3e-4, 2e-4


@dataclass(frozen=True, slots=True)
class Kind:
    """Weights that are computed alike: the type of most and of the rest, and whether they are of experts."""

    most: Type
    rest: Type
    experts: bool = False
    width: int = 2048

    @property
    def name(self) -> str:
        """The name that the record has."""
        return f"{self.most.name}{' experts' if self.experts else ''} {self.width}"


def kind_of(quantisation: str, *, experts: bool, narrow: bool) -> Kind:
    """The kind of a model's weights by the name of its quantisation; widths below 1,024 are computed more slowly."""
    name = quantisation.removeprefix("UD-").split("_K_")[0] + ("_K" if "_K_" in quantisation else "")
    most = Type[name] if name in Type.__members__ else Type.Q4_K
    return Kind(most, Type.Q6_K if most is Type.Q4_K else most, experts, 896 if narrow else 2048)


@dataclass(frozen=True, slots=True)
class Speed:
    """Parameters a second while reading a prompt, and bytes of weights a second while answering."""

    parameters_per_s: float
    bytes_per_s: float

    def prompt_token_s(self, target: KnownTarget) -> float:
        """Seconds that a token of a prompt takes."""
        return target.prompt_parameters / self.parameters_per_s + target.layers * _PROMPT_LAYER_S

    def answer_token_s(self, target: KnownTarget) -> float:
        """Seconds that a token of the answer takes, without a draft."""
        return target.answer_bytes / self.bytes_per_s + target.layers * _LAYER_S


def speeds(kinds: set[Kind]) -> dict[Kind, Speed]:
    """The machine's speeds, measured if the record in the cache folder lacks some."""
    made_by = f"{llama_cpp.__version__}, {TargetOptions().threads} threads"
    file = cache_folder() / "speed.json"
    known = _recorded(file, made_by)
    if lacking := {kind.name: _measured(kind) for kind in kinds if kind.name not in known}:
        known |= lacking
        with suppress(OSError):  # it is measured again
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({made_by: {name: astuple(speed) for name, speed in known.items()}}))
    return {kind: known[kind.name] for kind in kinds}


def _recorded(file: Path, made_by: str) -> dict[str, Speed]:
    try:
        return {name: Speed(*map(float, pair)) for name, pair in json.loads(file.read_text())[made_by].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _measured(kind: Kind) -> Speed:
    with TemporaryDirectory() as folder:
        file = Path(folder, "random.gguf")
        layers, parameters, read_bytes = _write(file, kind)
        model = LlamaModel(file, n_gpu_layers=0)
        try:
            reading_s, answering_s = _times(model)
        finally:
            model.close()
    weights_s = max(answering_s - layers * _SMALL_LAYER_S, answering_s / 4)
    return Speed(parameters * _BATCH / reading_s, read_bytes / weights_s)


def _times(model: LlamaModel) -> tuple[float, float]:
    """Seconds of a batch, and of a single token."""
    options = TargetOptions(place="cpu")
    context, tokens = LlamaContext(model, 1024, options), np.arange(_BATCH, dtype=np.int32)
    times = list[float]()
    for count in (_BATCH, _BATCH, *[1] * _TOKENS_OUT):
        start = time.process_time()
        context.decode(tokens[:count], want_logits=True)
        times.append((time.process_time() - start) / options.threads)
    context.close()
    return min(times[:2]), min(times[2:])


def _write(file: Path, kind: Kind) -> tuple[int, int, float]:
    """Write a model of random weights; returns layers, active parameters, and the bytes that a token reads."""
    random, writer = np.random.default_rng(0), gguf.GGUFWriter(file, "llama")
    _write_header(writer, kind)
    blocks = cache(partial(_blocks, random))  # layers may have the same weights
    parameters, read_bytes = 0, 0.0
    for layer in range(_LAYERS):
        for name, shape in _shapes(kind).items():
            type = kind.rest if layer % 2 == 0 and name.startswith(("attn_v", "ffn_down")) else kind.most
            data, share = blocks(shape, type), _USED / _EXPERTS if len(shape) == 3 else 1
            parameters += int(math.prod(shape) * share)
            read_bytes += data.nbytes * share
            writer.add_tensor(f"blk.{layer}.{name}.weight", data, raw_dtype=type)
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(kind.width, np.float32))
        if kind.experts:
            router = random.normal(0, 1, (_EXPERTS, kind.width)).astype(np.float32)
            writer.add_tensor(f"blk.{layer}.ffn_gate_inp.weight", router)
    writer.add_tensor("token_embd.weight", random.normal(0, 1, (_BATCH, kind.width)).astype(np.float32))
    writer.add_tensor("output_norm.weight", np.ones(kind.width, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return _LAYERS, parameters, read_bytes


def _write_header(writer: gguf.GGUFWriter, kind: Kind) -> None:
    numbers = {
        "context_length": 1024,
        "embedding_length": kind.width,
        "block_count": _LAYERS,
        "attention.head_count": kind.width // _HEAD,
        "attention.head_count_kv": _KV_HEADS,
        "feed_forward_length": _between(kind),
        "rope.dimension_count": _HEAD,
        "vocab_size": _BATCH,
    }
    experts = {"expert_count": _EXPERTS, "expert_used_count": _USED} if kind.experts else {}
    for name, number in (numbers | experts).items():
        writer.add_uint32(f"llama.{name}", number)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("no_vocab")


def _between(kind: Kind) -> int:
    return 3 * kind.width // (8 if kind.experts else 1)


def _shapes(kind: Kind) -> dict[str, tuple[int, ...]]:
    """The matrices of a layer."""
    width, between = kind.width, _between(kind)
    suffix, experts = ("_exps", (_EXPERTS,)) if kind.experts else ("", ())
    attention = {"attn_q": width, "attn_k": _HEAD * _KV_HEADS, "attn_v": _HEAD * _KV_HEADS, "attn_output": width}
    return {name: (rows, width) for name, rows in attention.items()} | {
        f"ffn_gate{suffix}": (*experts, between, width),
        f"ffn_up{suffix}": (*experts, between, width),
        f"ffn_down{suffix}": (*experts, width, between),
    }


def _blocks(random: np.random.Generator, shape: tuple[int, ...], kind: Type) -> NDArray[np.uint8]:
    """Random weights whose scales are small."""
    items, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (math.prod(shape) // items, size), np.uint8)
    scale = np.frombuffer(np.float16(1e-4).tobytes(), np.uint8)
    blocks[:, :2] = blocks[:, -2:] = scale
    if size > 4:
        blocks[:, 2:4] = scale
    return blocks.reshape(*shape[:-1], -1)
