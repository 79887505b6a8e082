"""Block drafts with random weights, as `winnow train draft` writes them, and what they guess in NumPy."""

from pathlib import Path

import gguf
import numpy as np
from random_models import write_all
from safetensors.numpy import load_file, save_file

from winnow_engine.core import Prompt
from winnow_engine.targets.drafts.block_file import LAYERS, METHOD, METHOD_KEY

from .numpy_drafts import HEAD, Array, Network

BLOCK = 6


def write_block(
    path: Path, read: tuple[int, ...] = (1, 3), width: int = 32, spread: float = 0.5, own: int = 128, block: int = BLOCK
) -> Path:
    """Two layers of Qwen3 and the tables beside them. The draft knows the target's even tokens below 2 * `own`."""
    heads, random = width // HEAD, np.random.default_rng(11)
    writer = gguf.GGUFWriter(path, "qwen3")
    writer.add_string(METHOD_KEY, METHOD)
    writer.add_string(LAYERS, ",".join(map(str, read)))
    writer.add_tokenizer_model("none")
    writer.add_vocab_size(own)
    writer.add_context_length(4096)
    writer.add_embedding_length(width)
    writer.add_block_count(2)
    writer.add_feed_forward_length(2 * width)
    writer.add_head_count(heads)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(1e-5)
    layer = {
        "attn_norm": (width,),
        "attn_q": (heads * HEAD, width),
        "attn_k": (HEAD, width),
        "attn_v": (HEAD, width),
        "attn_q_norm": (HEAD,),
        "attn_k_norm": (HEAD,),
        "attn_output": (width, heads * HEAD),
        "ffn_norm": (width,),
        "ffn_gate": (2 * width, width),
        "ffn_up": (2 * width, width),
        "ffn_down": (width, 2 * width),
    }
    shapes = {"token_embd": (own, width), "output_norm": (width,)}
    shapes |= {f"blk.{number}.{name}": shape for number in range(2) for name, shape in layer.items()}
    for name, shape in shapes.items():
        weights = np.ones(shape) if len(shape) == 1 else random.normal(0, spread, shape)
        writer.add_tensor(f"{name}.weight", weights.astype(np.float32))
    write_all(writer)
    tables = {
        "fuse": (width, len(read) * width),
        "embedding": (width,),
        "masks": (block - 1, width),
        "before": (own + 1, 4),
        "after": (own, 4),
    }
    stored = {name: random.normal(0, spread, shape).astype(np.float32) for name, shape in tables.items()}
    save_file({"tokens": np.arange(0, 2 * own, 2, dtype=np.int32), **stored}, path.with_suffix(".safetensors"))
    return path


def block_logits(path: Path, target: Path, read: Array, behind: Prompt, places: int, first: int = 0) -> Array:
    """The logits at the last places of a pass over the tokens from `first` on, whose hidden states are `read`.

    `behind[i]` follows the token of row i.
    """
    draft, tables = Network(path), load_file(path.with_suffix(".safetensors"))
    embedded = Network(target).tensors["token_embd.weight"][behind]
    states = normed(read.reshape(len(read), -1, embedded.shape[1])).reshape(read.shape)
    rows = states @ tables["fuse"].T + normed(embedded) * tables["embedding"]
    x = np.vstack([rows, tables["masks"][: places - 1]])
    causal = np.triu(np.full((len(x), len(x)), -np.inf), 1)
    for layer in range(draft.layers):
        x = draft.layer(x, layer, first + np.arange(len(x)), None, causal)
    return draft.times(draft.norm(x[-places:], "output_norm"), "token_embd")


def normed(x: Array) -> Array:
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-6)
