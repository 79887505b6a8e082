"""Drafts and their target in NumPy: the reference for llama.cpp's."""

from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Prompt

HEAD, READ = 16, (1, 3)
Array = NDArray[np.float32]


class Network:
    """A GGUF's layers in NumPy, in float32: RMS norms, q and k normed per head, NeoX RoPE, grouped queries, SwiGLU.

    Qwen2's queries and keys are not normed. Neither keys nor values are rounded: llama.cpp's memory is float32 where
    `exact` is used.
    """

    def __init__(self, path: Path) -> None:
        self.tensors = {tensor.name: np.array(tensor.data) for tensor in gguf.GGUFReader(path).tensors}
        self.layers = 1 + max(int(name.split(".")[1]) for name in self.tensors if name.startswith("blk."))

    def norm(self, x: Array, name: str) -> Array:
        return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-5) * self.tensors[f"{name}.weight"]

    def head_norm(self, x: Array, name: str) -> Array:
        return self.norm(x, name) if f"{name}.weight" in self.tensors else x

    def times(self, x: Array, name: str) -> Array:
        return x @ self.tensors[f"{name}.weight"].T

    def keys_and_values(self, x: Array, layer: int, positions: Array) -> tuple[Array, Array]:
        keys = rope(self.head_norm(self.times(x, f"blk.{layer}.attn_k"), f"blk.{layer}.attn_k_norm"), positions)
        return keys, self.times(x, f"blk.{layer}.attn_v")

    def layer(self, x: Array, layer: int, positions: Array, before: tuple[Array, Array] | None, mask: Array) -> Array:
        """One layer over `x`, which attends to the keys and values `before` and, with `mask` added, to itself."""
        name = f"blk.{layer}"
        normed = self.norm(x, f"{name}.attn_norm")
        keys, values = self.keys_and_values(normed, layer, positions)
        if before is not None:
            keys, values = np.vstack([before[0], keys]), np.vstack([before[1], values])
        queries = self.times(normed, f"{name}.attn_q").reshape(len(x), -1, HEAD).swapaxes(0, 1)
        queries = rope(self.head_norm(queries, f"{name}.attn_q_norm"), positions)
        scores = queries @ keys.T / np.sqrt(HEAD) + mask
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heads = weights / weights.sum(axis=-1, keepdims=True) @ values
        x = x + self.times(heads.swapaxes(0, 1).reshape(len(x), -1), f"{name}.attn_output")
        return x + self.feed_forward(x, name)

    def feed_forward(self, x: Array, name: str) -> Array:
        normed = self.norm(x, f"{name}.ffn_norm")
        gate = self.times(normed, f"{name}.ffn_gate")
        return self.times(gate / (1 + np.exp(-gate)) * self.times(normed, f"{name}.ffn_up"), f"{name}.ffn_down")


def rope(x: Array, positions: Array) -> Array:
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, HEAD, 2) / HEAD)
    low, high = np.split(x, 2, axis=-1)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([low * cos - high * sin, low * sin + high * cos], axis=-1).astype(np.float32)


def features(target: Network, tokens: Prompt, read: tuple[int, ...] = READ) -> Array:
    """The inputs of the layers in `read`, side by side."""
    positions, inputs = np.arange(len(tokens)), []
    causal = np.triu(np.full((len(tokens), len(tokens)), -np.inf), 1)
    x = target.tensors["token_embd.weight"][tokens]
    for layer in range(target.layers):
        inputs.append(x)
        x = target.layer(x, layer, positions, None, causal)
    return np.hstack([inputs[layer] for layer in read])
