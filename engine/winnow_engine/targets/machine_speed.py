"""How fast this machine computes models: measured on small ones of random weights in Q4_K, once, in some seconds.

The time that counts is the threads' own, so that other programs' load is not taken for the machine's speed; on a GPU it
is the clock's.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import astuple, dataclass, replace
from functools import cache, partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import gguf
import llama_cpp
import numpy as np
from gguf import GGMLQuantizationType as Type
from numpy.typing import NDArray

from winnow_engine.config import TargetOptions
from winnow_engine.errors import WinnowError
from winnow_engine.llama.context import LlamaContext, evaluates_on_gpu
from winnow_engine.llama.devices import best_gpu
from winnow_engine.llama.model import LlamaModel
from winnow_engine.models.target_table import KnownTarget
from winnow_engine.storage.folders import cache_folder

_BATCH, _TOKENS_OUT, _GPU_BATCH, _GPU_BYTES = 256, 16, 512, 2 << 30
_HEAD, _KV_HEADS, _EXPERTS, _USED = 64, 2, 16, 2
_WARM_S = 0.3  # the clocks of an idle GPU take so long to rise
# The speed of other weights than Q4_K at reading a prompt on a CPU: 0.4 to 0.9 by their type, with AVX2 on an EPYC.
_OTHERS = 0.6
# Fitted to five large models on an H200: a call's own seconds, a hybrid's time for a layer, a large one's for copying,
# and the speed at which many experts read a prompt, each a few tokens of it.
_CALL_S, _HYBRID, _COPYING, _MANY_EXPERTS = 2e-3, 2.3, 0.72, 0.6


@dataclass(frozen=True, slots=True)
class Speed:
    """Parameters of a prompt and bytes of an answer's weights a second, a layer's seconds beside for a token of each,
    and bytes a second that a GPU gets of weights in memory."""

    parameters_per_s: float
    bytes_per_s: float
    prompt_layer_s: float = 0.0
    layer_s: float = 0.0
    copied_per_s: float = math.inf


@dataclass(frozen=True, slots=True)
class Forecast:
    """Seconds that a token of a prompt takes, and beside it each batch of `batch` tokens; seconds of an answer's."""

    token_s: float
    answer_s: float
    batch_s: float = 0.0
    batch: int = 1

    @property
    def tokens_per_s(self) -> float:
        """How fast a long prompt is read."""
        return 1 / (self.token_s + self.batch_s / self.batch)

    def reads_s(self, tokens: int) -> float:
        """Seconds that a prompt takes."""
        return tokens * self.token_s + -(-tokens // self.batch) * self.batch_s


def forecast(
    target: KnownTarget, parts: tuple[int, int, int, int], batch: int, cpu: Speed | None, gpu: Speed | None
) -> Forecast | None:
    """How fast a target is with the `parts` of `divided`: the sum of theirs. None where a part's speed is unknown.

    A GPU reads all of a prompt, and is given what lies in memory for each batch; there the processor answers.
    """
    on_gpu, in_memory, experts, others = parts
    here, reads = experts * target.experts_used / target.experts + others, gpu or cpu
    if reads is None or (gpu is None and on_gpu) or (cpu is None and here):
        return None
    answer_s = 0.0
    for speed, size, layers in ((gpu, target.answer_bytes - here, on_gpu), (cpu, here, in_memory)):
        if speed and layers:
            answer_s += max(0.0, size) / speed.bytes_per_s + layers * speed.layer_s
    layers_s = target.layers * reads.prompt_layer_s * (_HYBRID if target.state_bytes else 1)
    slower = _OTHERS if gpu is None and "Q4_K" not in target.quantisation.upper() else 1.0
    token_s = target.prompt_parameters / (slower * reads.parameters_per_s) + layers_s
    return Forecast(token_s, answer_s, (experts + others) / reads.copied_per_s, batch)


def cpu_speed() -> Speed:
    """The processor's speed, measured if the record in the cache lacks it."""
    return _known(f"{TargetOptions().threads} threads", _measured)


def gpu_speed(*, experts: bool) -> Speed | None:
    """The speed of llama.cpp's GPU at models, with experts or without; None without a GPU or the memory to measure."""
    gpu = best_gpu() if evaluates_on_gpu(TargetOptions()) else None
    if gpu is None or gpu.free < _GPU_BYTES:
        return None
    with suppress(WinnowError):  # its memory may be taken by now
        return _known(f"{gpu.name}{', experts' * experts}", partial(_measured_on_gpu, experts))
    return None


def _known(name: str, measure: Callable[[], Speed]) -> Speed:
    file, made_by = cache_folder() / "speed.json", f"{llama_cpp.__version__}, {name}"
    record = _recorded(file)
    if made_by not in record:
        record[made_by] = astuple(measure())
        with suppress(OSError):  # it is measured again
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(record))
    return Speed(*record[made_by])


def _recorded(file: Path) -> dict[str, tuple[float, ...]]:
    try:
        return {name: astuple(Speed(*map(float, them))) for name, them in json.loads(file.read_text()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _measured() -> Speed:
    options = TargetOptions(place="cpu", n_ubatch=_BATCH)
    return _speed(_timed(False, (512, 16, 1 << 14), options), _timed(False, (2048, 2, 1 << 14), options), _BATCH, 0.0)


def _measured_on_gpu(experts: bool) -> Speed:
    options, narrow, wide = TargetOptions(n_ubatch=_GPU_BATCH), (2048 if experts else 1024, 5, 256), (4096, 5, 256)
    found = _speed(_timed(experts, narrow, options), _timed(experts, wide, options), _GPU_BATCH, _CALL_S)
    # Of experts, random weights use a few alone, and others are not copied.
    away = replace(options, n_gpu_layers=1)
    *_, size, (there_s, _), (copying_s, _) = _timed(False, wide, options, away)
    copied, read = (1.0, _MANY_EXPERTS) if experts else (_COPYING, 1.0)
    copied_per_s = copied * size / max(copying_s - there_s, there_s)
    return replace(found, parameters_per_s=read * found.parameters_per_s, copied_per_s=copied_per_s)


def _speed(small: Any, large: Any, batch: int, call_s: float) -> Speed:
    """Two widths tell the weights' time from the layers', which is much of a small model's."""
    (layers, fewer, less, (short_s, short_answer_s)), (deep, parameters, read, (reading_s, answering_s)) = small, large
    share = deep / layers
    parameter_s = max(reading_s - short_s * share, reading_s / 4) / (parameters - fewer * share)
    byte_s = max(answering_s - short_answer_s * share, answering_s / 9) / (read - less * share)
    layer_s = max(0.0, short_s - call_s - fewer * parameter_s) / batch / layers
    return Speed(batch / parameter_s, 1 / byte_s, layer_s, max(0.0, short_answer_s - less * byte_s) / layers)


def _timed(experts: bool, shape: tuple[int, int, int], *ways: TargetOptions) -> Any:
    """A small model's layers, a token's parameters and their bytes; for each way seconds of a batch and of a token."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "random.gguf")
        parameters, last, read = _write(file, experts, *shape)
        # Of a prompt, llama.cpp feeds the last layer forward for one token. What is fitted for a GPU counts all.
        parameters -= last * (ways[0].place == "cpu")
        return shape[1], parameters, read, *(_times(file, options) for options in ways)


def _times(file: Path, options: TargetOptions) -> tuple[float, float]:
    times, tokens = list[float](), np.arange(options.n_ubatch, dtype=np.int32) % _BATCH
    clock, threads = (time.process_time, options.threads) if options.place == "cpu" else (time.perf_counter, 1)
    model = LlamaModel(file, n_gpu_layers=options.gpu_layers, experts_in_memory=options.experts_in_memory)
    with closing(model), closing(LlamaContext(model, 2048, options)) as context:
        warm = time.monotonic() + (0 if options.place == "cpu" else _WARM_S)
        while time.monotonic() < warm:
            context.decode(tokens, want_logits=True)
            context.logits()
            context.clear()
        for count in (*[len(tokens)] * 2, *[1] * _TOKENS_OUT):
            start = clock()
            context.decode(tokens[:count], want_logits=True)
            context.logits()  # a GPU is waited for
            times.append((clock() - start) / threads)
    return min(times[:2]), median(times[2:])


def _write(file: Path, experts: bool, width: int, layers: int, words: int) -> tuple[int, int, float]:
    """Write a model of random weights: its parameters that a token uses, of these the last feed-forward, and bytes."""
    random, writer = np.random.default_rng(0), gguf.GGUFWriter(file, "llama")
    _write_header(writer, experts, width, layers, words)
    blocks = cache(partial(_blocks, random))  # layers may have the same weights
    output = blocks((words, width), Type.Q6_K)
    parameters, last, read_bytes = 0, 0, float(output.nbytes)
    for layer in range(layers):
        for name, shape in _shapes(experts, width).items():
            type = Type.Q6_K if layer % 2 == 0 and name.startswith(("attn_v", "ffn_down")) else Type.Q4_K
            data, share = blocks(shape, type), _USED / _EXPERTS if len(shape) == 3 else 1
            parameters += (used := int(math.prod(shape) * share))
            last += used * (layer + 1 == layers and name.startswith("ffn"))
            read_bytes += data.nbytes * share
            writer.add_tensor(f"blk.{layer}.{name}.weight", data, raw_dtype=type)
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(width, np.float32))
        if experts:
            writer.add_tensor(f"blk.{layer}.ffn_gate_inp.weight", random.random((_EXPERTS, width), np.float32))
    writer.add_tensor("token_embd.weight", output, raw_dtype=Type.Q6_K)
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return parameters, last, read_bytes


def _write_header(writer: gguf.GGUFWriter, experts: bool, width: int, layers: int, words: int) -> None:
    numbers = {"context_length": 1024, "embedding_length": width, "block_count": layers, "vocab_size": words}
    numbers |= {"attention.head_count": width // _HEAD, "attention.head_count_kv": _KV_HEADS}
    numbers |= {"feed_forward_length": list(_shapes(experts, width).values())[-1][-1], "rope.dimension_count": _HEAD}
    numbers |= {"expert_count": _EXPERTS, "expert_used_count": _USED} if experts else {}
    for name, number in numbers.items():
        writer.add_uint32(f"llama.{name}", number)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("no_vocab")


def _shapes(experts: bool, width: int) -> dict[str, tuple[int, ...]]:
    """The matrices of a layer."""
    between = math.ceil(3 * width / 2048) * 256 if experts else 3 * width
    suffix, each = ("_exps", (_EXPERTS,)) if experts else ("", ())
    attention = {"attn_q": width, "attn_k": _HEAD * _KV_HEADS, "attn_v": _HEAD * _KV_HEADS, "attn_output": width}
    fed = dict.fromkeys((f"ffn_gate{suffix}", f"ffn_up{suffix}"), (*each, between, width))
    found = {name: (rows, width) for name, rows in attention.items()}
    return found | fed | {f"ffn_down{suffix}": (*each, width, between)}


def _blocks(random: np.random.Generator, shape: tuple[int, ...], kind: Type) -> NDArray[np.uint8]:
    """Random weights whose scales are small, and vary: llama.cpp looks up what they are in a table."""
    items, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (math.prod(shape) // items, size), np.uint8)
    scales = np.exp2(random.uniform(-14, -11.5, (2, len(blocks), 1))).astype(np.float16)
    blocks[:, :2] = blocks[:, -2:] = scales[0].view(np.uint8)
    blocks[:, 2:4] = (-scales[1]).view(np.uint8)
    return blocks.reshape(*shape[:-1], -1)
