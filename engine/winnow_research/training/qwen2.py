"""A Qwen2 from a GGUF in PyTorch: what it reads and chooses in whole texts, and how likely it finds answers.

The weights are those of the GGUF, dequantised to bfloat16, so its choices part from llama.cpp's at near ties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from gguf.constants import GGMLQuantizationType
from torch import Tensor
from torch.nn import functional

from winnow_cuda.shapes import Int32, TransformerShape
from winnow_engine.encoder.weights import GgufTensors, shape_of
from winnow_engine.models.gguf_header import read_header, require_supported
from winnow_research.training.dequantise import dequantised

PREFILL_TOKENS = 32_768
"""Tokens of prompts that are read at a time."""
_LOGIT_ROWS = 8_192  # of which the likeliest token is taken at a time


@dataclass(frozen=True)
class Read:
    """What a model makes of R tokens of each text: features [B, R, layers, width], likeliest next ones int64 [B, R]."""

    features: Tensor
    choices: Tensor


@dataclass(frozen=True)
class Opening:
    """The common beginning of texts: its keys and values, [layers, KV heads, tokens, head width] each."""

    k: Tensor
    v: Tensor

    @property
    def tokens(self) -> int:
        """How long it is."""
        return self.k.shape[2]


Layer = Callable[[int, Tensor, Tensor, Tensor], None]
"""Is told a layer's number, what it reads [B, T, width], and its keys and values, [B, KV heads, T, head width] each."""


class Qwen2:
    """A Qwen2 whose weights are on a device, in bfloat16 on a GPU and in float32 on the processor."""

    def __init__(self, path: Path, device: torch.device) -> None:
        """Raises ModelNotFoundError, ModelDamagedError or UnsupportedModelError."""
        header = read_header(path)
        require_supported(header, frozenset({"qwen2"}))
        self.shape: TransformerShape = shape_of(header, header.block_count)
        self.device = device
        self.dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        stored = GgufTensors(path, header)
        self._weights = {name: self._loaded(stored, name) for name in header.tensors}
        self.embedding = self._weights["token_embd.weight"]
        self.output_norm = self._weights["output_norm.weight"]
        self.head = self._weights.get("output.weight", self.embedding)

    def _loaded(self, stored: GgufTensors, name: str) -> Tensor:
        info = stored.info(name)
        raw = torch.from_numpy(np.array(stored.stored(name))).to(self.device)
        if info.type in (GGMLQuantizationType.Q4_K, GGMLQuantizationType.Q6_K):
            return dequantised(raw, info.type, self.dtype).reshape(info.shape)
        return torch.from_numpy(stored.read(name)).to(self.device, self.dtype)

    @torch.inference_mode()
    def read(self, ids: Tensor, layers: Sequence[int], places: Tensor, beyond: int = 0) -> Read:
        """What `layers` read at `places` int64 [B, R] of tokens int64 [B, T], padded at the end.

        The choices are those behind the token that stands `beyond` places further.
        """
        found = []

        def keep(layer: int, hidden: Tensor, _k: Tensor, _v: Tensor) -> None:
            if layer in layers:
                found.append(_at(hidden, places))

        hidden = _at(self.hidden(ids, each=keep), places + beyond)
        best = [self.logits(part).argmax(1) for part in hidden.flatten(0, 1).split(_LOGIT_ROWS)]
        return Read(torch.stack(found, 2), torch.cat(best).view(places.shape))

    @torch.inference_mode()
    def opening(self, ids: Int32) -> Opening | None:
        """What texts that all begin with these tokens need not read again; None if there are no tokens."""
        k: list[Tensor] = []
        v: list[Tensor] = []

        def keep(_layer: int, _hidden: Tensor, keys: Tensor, values: Tensor) -> None:
            k.append(keys[0])
            v.append(values[0])

        if not len(ids):
            return None
        self.hidden(torch.from_numpy(ids.astype(np.int64)).to(self.device)[None], each=keep)
        return Opening(torch.stack(k), torch.stack(v))

    @torch.inference_mode()
    def likelihoods(self, prompts: Sequence[Int32], answers: Sequence[Int32], opening: Opening | None) -> list[float]:
        """The mean log-likelihood in nats of each answer's tokens, at least one, after the opening and its prompt."""
        texts = [np.concatenate(pair) for pair in zip(prompts, answers, strict=True)]
        together = max(1, PREFILL_TOKENS // max(map(len, texts), default=1))
        found = []
        for start in range(0, len(texts), together):
            some = texts[start : start + together]
            hidden = self.hidden(torch.from_numpy(padded(some)).to(self.device), opening)
            for states, text, answer in zip(hidden, some, answers[start : start + together], strict=True):
                wanted = torch.from_numpy(answer.astype(np.int64)).to(self.device)
                chances = self.logits(states[len(text) - len(wanted) - 1 : len(text) - 1]).float().log_softmax(1)
                found.append(chances.gather(1, wanted[:, None]).mean())
        return torch.stack(found).tolist()

    def hidden(self, ids: Tensor, opening: Opening | None = None, each: Layer | None = None) -> Tensor:
        """What the last layer makes of tokens int64 [B, T], padded at the end, behind the opening: [B, T, width]."""
        before = opening.tokens if opening else 0
        hidden, mask = self.embedding[ids], None
        positions = torch.arange(before, before + ids.shape[1], device=self.device).expand_as(ids)
        if opening:
            mask = torch.arange(before + ids.shape[1], device=self.device) <= positions[:1, :, None]
        for layer in range(self.shape.layers):
            q, k, v = self.qkv(layer, hidden, positions)
            if each:
                each(layer, hidden, k, v)
            if opening:
                k, v = _behind(opening.k[layer], k), _behind(opening.v[layer], v)
            mixed = functional.scaled_dot_product_attention(
                q, self._shared(k), self._shared(v), attn_mask=mask, is_causal=mask is None
            )
            hidden = self.after(layer, hidden, mixed)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """The logits [rows, vocabulary] of what the last layer makes, [rows, width]."""
        return functional.linear(self._norm(hidden, "output_norm.weight"), self.head)

    def qkv(self, layer: int, hidden: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of a layer, [B, heads, T, head width], of [B, T, width] at positions [B, T]."""
        x = self._norm(hidden, f"blk.{layer}.attn_norm.weight")
        parts = []
        for name, heads in (("q", self.shape.heads), ("k", self.shape.kv_heads), ("v", self.shape.kv_heads)):
            prefix = f"blk.{layer}.attn_{name}"
            part = functional.linear(x, self._weights[f"{prefix}.weight"], self._weights[f"{prefix}.bias"])
            parts.append(part.view(*part.shape[:-1], heads, -1).transpose(1, 2))
        cos, sin = rotary(positions, self.shape.head_dim, self.shape.rope_base)
        return rotated(parts[0], cos, sin), rotated(parts[1], cos, sin), parts[2]

    def after(self, layer: int, hidden: Tensor, mixed: Tensor) -> Tensor:
        """What a layer makes of [B, T, width], with what its heads [B, heads, T, head width] saw."""
        weights = self._weights
        out = functional.linear(mixed.transpose(1, 2).flatten(2), weights[f"blk.{layer}.attn_output.weight"])
        hidden = hidden + out
        x = self._norm(hidden, f"blk.{layer}.ffn_norm.weight")
        gate = functional.silu(functional.linear(x, weights[f"blk.{layer}.ffn_gate.weight"]))
        up = functional.linear(x, weights[f"blk.{layer}.ffn_up.weight"])
        return hidden + functional.linear(gate * up, weights[f"blk.{layer}.ffn_down.weight"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return functional.rms_norm(x, x.shape[-1:], self._weights[name], self.shape.rms_eps)

    def _shared(self, x: Tensor) -> Tensor:
        return x.repeat_interleave(self.shape.heads // self.shape.kv_heads, 1)


def _at(hidden: Tensor, places: Tensor) -> Tensor:
    return hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[-1]))


def _behind(opening: Tensor, x: Tensor) -> Tensor:
    return torch.cat([opening.expand(len(x), -1, -1, -1), x], 2)


def rotary(positions: Tensor, width: int, base: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines for positions [B, T]: float32 [B, 1, T, width] each."""
    steps = torch.arange(0, width, 2, device=positions.device, dtype=torch.float32)
    angles = positions[:, None, :, None].float() * base ** (-steps / width)
    return torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """`x` [B, heads, T, width] with the second half of each head turned against the first (NEOX)."""
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return (x * cos + turned * sin).to(x.dtype)


def padded(texts: Sequence[np.ndarray]) -> np.ndarray:
    """Numbers int64 [B, T], with zeros at the end up to a multiple of 8."""
    longest = -(-max(map(len, texts)) // 8) * 8
    return np.stack([np.pad(text.astype(np.int64), (0, longest - len(text))) for text in texts])
