"""GGUF files of a few hundred kilobytes with random weights: real llama.cpp, instant answers, no meaning."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import gguf
import llama_cpp
import numpy as np
import pytest
from random_models import add_tokenizer, write_all

from winnow_engine.config import TargetOptions
from winnow_engine.llama.context import context_params

from . import hostile as servers

LAYERS, WIDTH, HEADS, HEAD, CONTEXT = 2, 32, 2, 16, 4096


def start(
    path: Path, architecture: str, layers: int = LAYERS, control: Sequence[str] = ("<|im_start|>", "<|im_end|>")
) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(layers)
    writer.add_layer_norm_rms_eps(1e-5)
    add_tokenizer(writer, [*control])
    return writer


def finish(writer: gguf.GGUFWriter, shapes: dict[str, tuple[int, ...]]) -> None:
    random = np.random.default_rng(7)
    for name, shape in {"token_embd.weight": (258, WIDTH), "output_norm.weight": (WIDTH,), **shapes}.items():
        writer.add_tensor(name, weights(name, shape, random))
    write_all(writer)


def weights(name: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    if name.endswith("norm.weight"):
        return np.ones(shape, np.float32)
    normal = random.normal(0, 0.5, shape).astype(np.float32)
    # A state decays: its rates are negative.
    return -np.abs(normal) if name.endswith("ssm_a") else normal


@pytest.fixture
def hostile() -> Iterator[servers.Hostile]:
    with servers.served(servers.Hostile()) as hostile:
        yield hostile


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_llama(tmp_path_factory.mktemp("models") / "tiny-llama.gguf")


def write_llama(
    path: Path, templates: Sequence[Mapping[str, str]] = (), control: Sequence[str] = ("<|im_start|>", "<|im_end|>")
) -> Path:
    """A model as small as possible, with chat templates by name, and control tokens of which the second is an end."""
    writer = start(path, "llama", control=control)
    if templates:
        writer.add_chat_template(templates)
    writer.add_head_count(HEADS)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    layer = {f"attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")} | {
        "attn_norm": (WIDTH,),
        "ffn_norm": (WIDTH,),
        "ffn_gate": (2 * WIDTH, WIDTH),
        "ffn_up": (2 * WIDTH, WIDTH),
        "ffn_down": (WIDTH, 2 * WIDTH),
    }
    shapes = {f"blk.{i}.{name}.weight": shape for i in range(LAYERS) for name, shape in layer.items()}
    finish(writer, {"token_embd.weight": (256 + len(control), WIDTH), **shapes})
    return path


def grouped(writer: gguf.GGUFWriter) -> dict[str, tuple[int, ...]]:
    """Two query heads for one head of keys and values, and the tensors of such a layer."""
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_feed_forward_length(2 * WIDTH)
    return {
        "attn_norm": (WIDTH,),
        "attn_q": (HEADS * HEAD, WIDTH),
        "attn_k": (HEAD, WIDTH),
        "attn_v": (HEAD, WIDTH),
        "attn_q_norm": (HEAD,),
        "attn_k_norm": (HEAD,),
        "attn_output": (WIDTH, HEADS * HEAD),
        "ffn_norm": (WIDTH,),
        "ffn_gate": (2 * WIDTH, WIDTH),
        "ffn_up": (2 * WIDTH, WIDTH),
        "ffn_down": (WIDTH, 2 * WIDTH),
    }


@pytest.fixture(scope="session")
def tiny_qwen3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny-qwen3.gguf"
    writer = start(path, "qwen3", layers=4)
    layer = grouped(writer)
    finish(writer, {f"blk.{i}.{name}.weight": shape for i in range(4) for name, shape in layer.items()})
    return path


@pytest.fixture(scope="session")
def tiny_qwen2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny-qwen2.gguf"
    writer = start(path, "qwen2", layers=4)
    layer = {name: shape for name, shape in grouped(writer).items() if name not in ("attn_q_norm", "attn_k_norm")}
    finish(writer, {f"blk.{i}.{name}.weight": shape for i in range(4) for name, shape in layer.items()})
    return path


@pytest.fixture(scope="session")
def tiny_mamba(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recurrent model: its memory holds one state and cannot forget only the last tokens."""
    path = tmp_path_factory.mktemp("models") / "tiny-mamba.gguf"
    inner, state, conv, rank = 2 * WIDTH, 16, 4, 2
    writer = start(path, "mamba")
    writer.add_head_count(0)
    writer.add_feed_forward_length(0)
    writer.add_ssm_conv_kernel(conv)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(rank)
    layer = {
        "attn_norm.weight": (WIDTH,),
        "ssm_in.weight": (2 * inner, WIDTH),
        "ssm_conv1d.weight": (inner, conv),
        "ssm_conv1d.bias": (inner,),
        "ssm_x.weight": (rank + 2 * state, inner),
        "ssm_dt.weight": (inner, rank),
        "ssm_dt.bias": (inner,),
        "ssm_a": (inner, state),
        "ssm_d": (inner,),
        "ssm_out.weight": (WIDTH, inner),
    }
    finish(writer, {f"blk.{i}.{name}": shape for i in range(LAYERS) for name, shape in layer.items()})
    return path


@pytest.fixture(scope="session")
def tiny_qwen35(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hybrid with three recurrent layers for each one with keys and values. llama.cpp keeps its past states."""
    path = tmp_path_factory.mktemp("models") / "tiny-qwen35.gguf"
    state, heads, conv = 16, 2, 4
    channels = 3 * state * heads
    writer = start(path, "qwen35", layers=4)
    attention = grouped(writer)
    writer.add_rope_dimension_count(HEAD)
    writer.add_rope_dimension_sections([4, 2, 2, 0])
    writer.add_ssm_conv_kernel(conv)
    writer.add_ssm_inner_size(heads * state)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(heads)
    writer.add_ssm_group_count(heads)
    ffn = {name: attention.pop(name) for name in ("ffn_gate", "ffn_up", "ffn_down")}
    attention["attn_q"] = (2 * HEADS * HEAD, WIDTH)  # with a gate for each
    del attention["ffn_norm"]
    recurrent = {
        "attn_norm.weight": (WIDTH,),
        "attn_qkv.weight": (channels, WIDTH),
        "attn_gate.weight": (heads * state, WIDTH),
        "ssm_conv1d.weight": (channels, conv),
        "ssm_dt.bias": (heads,),
        "ssm_a": (heads,),
        "ssm_beta.weight": (heads, WIDTH),
        "ssm_alpha.weight": (heads, WIDTH),
        "ssm_norm.weight": (state,),
        "ssm_out.weight": (WIDTH, heads * state),
    }
    shared = {f"{name}.weight": shape for name, shape in ffn.items()} | {"post_attention_norm.weight": (WIDTH,)}
    last = {f"{name}.weight": shape for name, shape in attention.items()}
    layers = [recurrent | shared] * 3 + [last | shared]
    finish(writer, {f"blk.{i}.{name}": shape for i, layer in enumerate(layers) for name, shape in layer.items()})
    return path


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """float32 keys and values, and attention that does not round them: only the order of sums makes a difference."""

    def params(n_ctx: int, options: TargetOptions, branches: int) -> llama_cpp.llama_context_params:
        params = context_params(n_ctx, options, branches)
        params.type_k = params.type_v = llama_cpp.GGML_TYPE_F32
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        return params

    for module in ("llama.context", "targets.drafts.draft_context"):
        monkeypatch.setattr(f"winnow_engine.{module}.context_params", params)


@pytest.fixture
def all_drafts_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draft whatever it costs: with models this small it seldom pays, and would depend on the clock."""
    monkeypatch.setattr(
        "winnow_engine.targets.drafts.GatedDraft", lambda free, asked, costs, chosen=False: asked or free
    )


@pytest.fixture(params=["tiny_llama", "tiny_mamba", "tiny_qwen35"])
def model(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path
