"""Models of random weights for tests: a drafter that is a target, too, and a reranker for any drafter."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from winnow_cuda.shapes import Float32
from winnow_engine.encoder.low_rank import MATRICES, Tensors
from winnow_engine.models.gguf_header import read_header
from winnow_research.calibration.profile_writing import write_tensors

WIDTH = 128


def write_model(path: Path, architecture: str = "llama", tensors_a_file: int = 0) -> Path:
    """A llama in a file of two megabytes: four layers, and 512 tokens, half of which no text has."""
    writer = gguf.GGUFWriter(path, architecture, split_max_tensors=tensors_a_file)
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(4)
    writer.add_head_count(WIDTH // 64)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_rope_dimension_count(64)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(byte_tokens() + [f"<{number}>" for number in range(256)])
    writer.add_token_types([gguf.TokenType.NORMAL] * 512)
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(511)
    square, wide = (WIDTH, WIDTH), (2 * WIDTH, WIDTH)
    layer = dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), square)
    layer |= {"ffn_gate": wide, "ffn_up": wide, "ffn_down": wide[::-1]}
    random = np.random.default_rng(7)
    for number in range(4):
        for name, shape in layer.items():
            writer.add_tensor(f"blk.{number}.{name}.weight", random.normal(0, 0.1, shape).astype(np.float32))
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{number}.{name}.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("token_embd.weight", random.normal(0, 1, (512, WIDTH)).astype(np.float32))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    write_all(writer)
    return path


def write_all(writer: gguf.GGUFWriter) -> None:
    """Write the file and close it."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_tokenizer(writer: gguf.GGUFWriter, control: list[str]) -> None:
    """A vocabulary of bytes and control tokens, of which the second ends a text."""
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(byte_tokens() + control)
    writer.add_token_types([gguf.TokenType.NORMAL] * 256 + [gguf.TokenType.CONTROL] * len(control))
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(257)


def byte_tokens() -> list[str]:
    """One token per byte, spelled as in GPT-2: printable bytes as they are, others from U+0100 on."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte if byte in printable else 256 + others.index(byte)) for byte in range(256)]


def reranker_tensors(drafter: Path, layers: int, rank: int = 4, update: float = 0.1, seed: int = 0) -> Tensors:
    """Updates of about `update` times the size of a matrix's rows, and a head."""
    random, header = np.random.default_rng(seed), read_header(drafter)

    def normal(*shape: int, deviation: float) -> Float32:
        return random.normal(0, deviation, shape).astype(np.float32)

    found: Tensors = {}
    for layer in range(layers):
        for name in MATRICES:
            rows, columns = header.tensors[f"blk.{layer}.{name}.weight"].shape
            found[f"lora.{layer}.{name}.a"] = normal(rank, columns, deviation=columns**-0.5)
            found[f"lora.{layer}.{name}.b"] = normal(rows, rank, deviation=update * rank**-0.5 / 2)
    width = header.tensors["blk.0.attn_norm.weight"].shape[0]
    return found | {
        "head.votes": normal(3, width, deviation=3 * width**-0.5),
        "head.length": np.array([-0.3], np.float32),
        "head.first": np.zeros(2, np.float32),
        "head.mu": normal(width, deviation=0.1),
        "head.sd": np.abs(normal(width, deviation=0.3)) + np.float32(0.5),
    }


def write_reranker(path: Path, drafter: Path, layers: int, rank: int = 4, update: float = 0.1) -> Path:
    """Write one for the first `layers` layers of a drafter."""
    write_tensors(path, reranker_tensors(drafter, layers, rank, update), 2.0)
    return path
