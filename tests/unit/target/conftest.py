"""GGUF files of a few hundred kilobytes with random weights: real llama.cpp, instant answers, no meaning."""

from pathlib import Path

import gguf
import numpy as np
import pytest

LAYERS, WIDTH, HEADS, CONTEXT = 2, 32, 2, 4096


def byte_tokens() -> list[str]:
    """One token a byte, spelled as GPT-2 does: printable bytes as they are, others from U+0100 on."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte if byte in printable else 256 + others.index(byte)) for byte in range(256)]


def start(path: Path, architecture: str) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_layer_norm_rms_eps(1e-5)
    control = ["<|im_start|>", "<|im_end|>"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(byte_tokens() + control)
    writer.add_token_types([gguf.TokenType.NORMAL] * 256 + [gguf.TokenType.CONTROL] * len(control))
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(257)
    return writer


def finish(writer: gguf.GGUFWriter, shapes: dict[str, tuple[int, ...]]) -> None:
    random = np.random.default_rng(7)
    for name, shape in {"token_embd.weight": (258, WIDTH), "output_norm.weight": (WIDTH,), **shapes}.items():
        writer.add_tensor(name, weights(name, shape, random))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def weights(name: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    if name.endswith("norm.weight"):
        return np.ones(shape, np.float32)
    normal = random.normal(0, 0.5, shape).astype(np.float32)
    # A state decays: its rates are negative.
    return -np.abs(normal) if name.endswith("ssm_a") else normal


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny-llama.gguf"
    writer = start(path, "llama")
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
    finish(writer, {f"blk.{i}.{name}.weight": shape for i in range(LAYERS) for name, shape in layer.items()})
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
