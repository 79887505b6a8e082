"""A drafter, and a target, of random weights: a file of two megabytes that loads at once and means nothing."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

WIDTH = 128


def write_model(path: Path) -> Path:
    """Four layers of random weights; 512 tokens, half of which no text has."""
    writer = gguf.GGUFWriter(path, "llama")
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
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def byte_tokens() -> list[str]:
    """One token per byte, spelled as in GPT-2: printable bytes as they are, others from U+0100 on."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte if byte in printable else 256 + others.index(byte)) for byte in range(256)]
