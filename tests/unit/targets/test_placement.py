"""What of a target goes to a GPU that cannot hold it all: headers of real shapes, and cards of 8 to 80 GB."""

import ctypes
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path

import gguf
import llama_cpp
import pytest
from gguf import GGMLQuantizationType as Type

from winnow_engine.config import ModelConfig, TargetOptions
from winnow_engine.errors import ModelDamagedError
from winnow_engine.llama.model import LlamaModel
from winnow_engine.models.gguf_header import GgufHeader, TensorInfo
from winnow_engine.targets import opening
from winnow_engine.targets.drafts.base import NoDraft
from winnow_engine.targets.placement import _candidates, _gpu_bytes, placed
from winnow_engine.targets.residency import MemoryNeeds, left_for_target
from winnow_engine.targets.suggesting import figures

from .loaded import Loaded

GB = 10**9
Shapes = dict[str, tuple[tuple[int, ...], Type]]


def header(architecture: str, layers: list[Shapes], others: Shapes, values: dict[str, int]) -> GgufHeader:
    named = {f"blk.{number}.{name}.weight": one for number, layer in enumerate(layers) for name, one in layer.items()}
    tensors = {
        name: TensorInfo(shape, kind, 0, prod(shape) * gguf.GGML_QUANT_SIZES[kind][1] // gguf.GGML_QUANT_SIZES[kind][0])
        for name, (shape, kind) in {**named, **others}.items()
    }
    metadata = {f"{architecture}.{name}": value for name, value in values.items()}
    return GgufHeader(architecture, "", len(layers), 1 << 17, metadata, tensors)


def attention(width: int, heads: int, kv_heads: int, size: int, kind: Type = Type.Q4_K) -> Shapes:
    rows = {"attn_q": heads, "attn_k": kv_heads, "attn_v": kv_heads}
    found: Shapes = {name: ((count * size, width), kind) for name, count in rows.items()}
    return found | {"attn_output": ((width, heads * size), kind)}


def feed(width: int, between: int, experts: int = 0, kind: Type = Type.Q4_K) -> Shapes:
    lead, suffix = ((experts,), "_exps") if experts else ((), "")
    return {f"ffn_{name}{suffix}": ((*lead, between, width), kind) for name in ("gate", "up", "down")}


def ends(width: int, words: int, *, tied: bool = False, kind: Type = Type.Q6_K) -> Shapes:
    embedding: Shapes = {"token_embd.weight": ((words, width), kind)}
    return embedding if tied else embedding | {"output.weight": ((words, width), kind)}


def heads(heads: int, kv_heads: int, size: int) -> dict[str, int]:
    return {"attention.head_count": heads, "attention.head_count_kv": kv_heads, "attention.key_length": size}


def qwen3(width: int, between: int, *, tied: bool = False) -> GgufHeader:
    layer = attention(width, 32, 8, 128) | feed(width, between)
    return header("qwen3", [layer] * 36, ends(width, 151_936, tied=tied), heads(32, 8, 128))


def hybrid() -> Iterator[Shapes]:
    states: Shapes = {"ssm_conv1d": ((10240, 4), Type.F32), "attn_qkv": ((10240, 5120), Type.Q4_K)}
    states |= {"attn_gate": ((6144, 5120), Type.Q4_K), "ssm_out": ((5120, 6144), Type.Q4_K)}
    for number in range(64):
        yield (attention(5120, 48, 4, 256) if number % 4 == 3 else states) | feed(5120, 17408)


HEADERS = {
    "30b-a3b": header(
        "qwen3moe", [attention(2048, 32, 4, 128) | feed(2048, 768, 128)] * 48, ends(2048, 151_936), heads(32, 4, 128)
    ),
    "20b-a4b": header(
        "gpt-oss",
        [attention(2880, 64, 8, 64, Type.Q8_0) | feed(2880, 2880, 32, Type.MXFP4)] * 24,
        ends(2880, 201_088, kind=Type.Q8_0),
        heads(64, 8, 64),
    ),
    "27b": header(
        "qwen35",
        list(hybrid()),
        ends(5120, 248_320),
        heads(48, 4, 256)
        | {"ssm.inner_size": 6144, "ssm.state_size": 128, "ssm.group_count": 16, "ssm.conv_kernel": 4},
    ),
    "8b": qwen3(4096, 12288),
    "4b": qwen3(2560, 9728, tied=True),
}

MODELS = {
    name: figures(name, header, sum(tensor.bytes for tensor in header.tensors.values()), "Q4_K_M")
    for name, header in HEADERS.items()
}


def memory(gigabytes: int) -> MemoryNeeds:
    return MemoryNeeds(gigabytes * GB, "a GPU", 491_400_064, 1 << 30, 0, True)


WHOLE, CARDS = ("f16", None, 0), (8, 12, 16, 24, 80)
EXPECTED = {
    "30b-a3b": (("f16", None, 42), ("f16", None, 31), ("f16", None, 20), WHOLE, WHOLE),
    "20b-a4b": (("f16", None, 19), ("f16", None, 10), ("q8_0", None, 0), WHOLE, WHOLE),
    "27b": (None, ("f16", 29, 0), ("f16", 43, 0), WHOLE, WHOLE),
    "8b": (("f16", 28, 0), WHOLE, WHOLE, WHOLE, WHOLE),
    "4b": (WHOLE,) * 5,
}


@pytest.mark.parametrize("model", MODELS)
def test_a_card_gets_what_makes_the_target_fastest(model: str) -> None:
    found = [placed(MODELS[model], left_for_target(memory(size)), TargetOptions()) for size in CARDS]
    assert tuple(one and (one.kv_type, one.n_gpu_layers, one.experts_in_memory) for one in found) == EXPECTED[model]


@pytest.mark.parametrize(("model", "gigabytes"), list(product(MODELS, CARDS)))
def test_nothing_better_fits_and_all_else_has_room_beside_it(model: str, gigabytes: int) -> None:
    needs, left, options = memory(gigabytes), left_for_target(memory(gigabytes)), TargetOptions()
    found = placed(MODELS[model], left, options)
    better = list(_candidates(MODELS[model], options))
    better = better[: better.index(found)] if found else better
    assert all(_gpu_bytes(MODELS[model], one) > left for one in better)
    used = _gpu_bytes(MODELS[model], found) if found else 0
    assert used + needs.drafter + needs.drafter_work + (1 << 30) <= gigabytes * GB


@pytest.mark.parametrize("wanted", ["auto", "cpu"])
def test_the_target_is_opened_so_unless_the_user_says_where(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "locate", Path)
    monkeypatch.setattr(opening, "described", lambda *_: MODELS["30b-a3b"])
    monkeypatch.setattr(opening, "measure", lambda *_: replace(memory(16), target=20 * GB))
    options = opening.local_options(ModelConfig("d.gguf", "t.gguf", target_place=wanted))  # type: ignore[arg-type]
    expected = ("resident", 20) if wanted == "auto" else ("cpu", 0)
    assert (options.place, options.experts_in_memory) == expected


def test_a_target_that_a_gpu_does_not_hold_after_all_is_opened_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[TargetOptions]()

    def load(_path: Path, options: TargetOptions) -> None:
        tried.append(options)
        if options.place != "cpu":
            raise ModelDamagedError("unable to allocate CUDA0 buffer")

    monkeypatch.setattr(opening, "locate", Path)
    monkeypatch.setattr(opening, "local_options", lambda _: TargetOptions(n_gpu_layers=9, experts_in_memory=1))
    monkeypatch.setattr(opening.LlamaTarget, "open", load)
    opening.open_target(ModelConfig(target="t.gguf"))
    assert tried[1:] == [TargetOptions(place="cpu")]


class _Given(ctypes.Structure):
    _fields_ = (("pattern", ctypes.c_char_p), ("buft", ctypes.c_void_p))


def test_llama_cpp_is_told_and_a_cpu_build_loads_the_same(tiny_llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load, told = llama_cpp.llama_model_load_from_file, []

    def loaded(path: bytes, params: llama_cpp.llama_model_params) -> int:
        if params.tensor_buft_overrides:
            given = ctypes.cast(params.tensor_buft_overrides, ctypes.POINTER(_Given))
            told.append((params.n_gpu_layers, given[0].pattern, bool(given[0].buft), given[1].pattern))
        handle: int = load(path, params)
        return handle

    monkeypatch.setattr(llama_cpp, "llama_model_load_from_file", loaded)
    answers = list[list[int]]()
    for layers, experts in ((None, 0), (None, 2), (1, 0)):
        with closing(Loaded(LlamaModel(tiny_llama, n_gpu_layers=layers, experts_in_memory=experts))) as one:
            answers.append(one.answer(NoDraft()).tokens)
    assert told == [(-1, rb"^blk\.(0|1)\.ffn_.*_exps", True, None)]
    assert answers[0] == answers[1] == answers[2]
