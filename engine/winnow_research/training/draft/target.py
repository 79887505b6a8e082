"""The target in PyTorch: its features and choices over whole texts, and many answers at a time.

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

from winnow_cuda.shapes import TransformerShape
from winnow_engine.drafter.weights import GgufTensors, shape_of
from winnow_engine.models.gguf_header import read_header, require_supported
from winnow_research.training.dequantise import dequantised

_PREFILL_TOKENS = 32_768  # of prompts read at a time
_LOGIT_ROWS = 8_192  # of which the likeliest token is taken at a time
_TOGETHER = 512  # answers written at a time: keys and values of the 1.5B take up to 23 GB
_STEPS = 16  # from one look at what has ended to the next


@dataclass(frozen=True)
class Read:
    """What the target makes of texts: features [B, T, layers, width] and likeliest next tokens int64 [B, T]."""

    features: Tensor
    choices: Tensor


class Target:
    """A Qwen2 from a GGUF."""

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
    def read(self, ids: Tensor, layers: Sequence[int]) -> Read:
        """What `layers` read of tokens int64 [B, T], padded at the end."""
        hidden, found = self.embedding[ids], []
        positions = torch.arange(ids.shape[1], device=self.device).expand_as(ids)
        for layer in range(self.shape.layers):
            if layer in layers:
                found.append(hidden)
            q, k, v = self._qkv(layer, hidden, positions)
            mixed = functional.scaled_dot_product_attention(q, *self._shared(k, v), is_causal=True)
            hidden = self._after(layer, hidden, mixed)
        return Read(torch.stack(found, 2), self._choices(hidden))

    def _choices(self, hidden: Tensor) -> Tensor:
        normed = self._norm(hidden, "output_norm.weight").flatten(0, 1)
        best = [functional.linear(part, self.head).argmax(1) for part in normed.split(_LOGIT_ROWS)]
        return torch.cat(best).view(hidden.shape[:2])

    @torch.inference_mode()
    def answers(
        self, prompts: Sequence[np.ndarray], most: int, temperatures: Sequence[float], ends: Sequence[int]
    ) -> list[np.ndarray]:
        """The answer to each prompt, int32, at most `most` tokens, its end token included. 0 means the likeliest.

        Up to 512 are written at a time; where one has ended, the next prompt takes its row.
        """
        rows = min(_TOGETHER, len(prompts))
        decoder = _Decoder(self, rows, max(map(len, prompts)), most)
        answers: dict[int, np.ndarray] = {}
        writing: dict[int, tuple[int, int]] = {}  # by row: the prompt's number, and the steps taken
        coming = iter(range(len(prompts)))
        while True:
            new = dict(zip((row for row in range(rows) if row not in writing), coming, strict=False))
            decoder.begin(list(new), [prompts[n] for n in new.values()], [temperatures[n] for n in new.values()])
            writing |= {row: (number, 0) for row, number in new.items()}
            if not writing:
                return [answers[number] for number in range(len(prompts))]
            written = decoder.run(_STEPS)
            for row, (number, steps) in list(writing.items()):
                taken = min(steps + _STEPS, most)
                writing[row] = number, taken
                answer = _until(written[row, :taken], ends)
                if taken == most or answer[-1] in ends:
                    answers[number] = answer.copy()
                    del writing[row]

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return functional.rms_norm(x, x.shape[-1:], self._weights[name], self.shape.rms_eps)

    def _qkv(self, layer: int, hidden: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self._norm(hidden, f"blk.{layer}.attn_norm.weight")
        parts = []
        for name, heads in (("q", self.shape.heads), ("k", self.shape.kv_heads), ("v", self.shape.kv_heads)):
            prefix = f"blk.{layer}.attn_{name}"
            part = functional.linear(x, self._weights[f"{prefix}.weight"], self._weights[f"{prefix}.bias"])
            parts.append(part.view(*part.shape[:-1], heads, -1).transpose(1, 2))
        cos, sin = rotary(positions, self.shape.head_dim, self.shape.rope_base)
        return rotated(parts[0], cos, sin), rotated(parts[1], cos, sin), parts[2]

    def _shared(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        times = self.shape.heads // self.shape.kv_heads
        return k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)

    def _after(self, layer: int, hidden: Tensor, mixed: Tensor) -> Tensor:
        weights = self._weights
        out = functional.linear(mixed.transpose(1, 2).flatten(2), weights[f"blk.{layer}.attn_output.weight"])
        hidden = hidden + out
        x = self._norm(hidden, f"blk.{layer}.ffn_norm.weight")
        gate = functional.silu(functional.linear(x, weights[f"blk.{layer}.ffn_gate.weight"]))
        up = functional.linear(x, weights[f"blk.{layer}.ffn_up.weight"])
        return hidden + functional.linear(gate * up, weights[f"blk.{layer}.ffn_down.weight"])


class _Decoder:
    """Keys and values of many answers, and one step of all, which a CUDA graph replays."""

    def __init__(self, target: Target, rows: int, longest: int, most: int) -> None:
        """Make room for `rows` prompts of up to `longest` tokens, and for answers of up to `most`."""
        self._target, shape, device = target, target.shape, target.device
        room = most + _STEPS  # an answer that has ended goes on until the next look at it
        size = (shape.layers, rows, shape.kv_heads, -(-(longest + room) // 16) * 16, shape.head_dim)
        self._k = torch.zeros(size, dtype=target.dtype, device=device)
        self._v = torch.zeros_like(self._k)
        self._token = torch.zeros(rows, dtype=torch.long, device=device)
        self._position = torch.zeros_like(self._token)
        self._step = torch.zeros_like(self._token)
        self._written = torch.zeros(rows, room, dtype=torch.long, device=device)
        self._temperature = torch.zeros(rows, 1, device=device)
        self._replay = self._captured() if device.type == "cuda" else self._advance

    def begin(self, rows: Sequence[int], prompts: Sequence[np.ndarray], temperatures: Sequence[float]) -> None:
        """Read all of each prompt but its last token, which the next step takes, into these rows."""
        target, device = self._target, self._target.device
        together = max(1, _PREFILL_TOKENS // max(map(len, prompts), default=1))
        for start in range(0, len(prompts), together):
            some = prompts[start : start + together]
            into = torch.tensor(rows[start : start + together], device=device)
            ids = torch.from_numpy(padded(some)).to(device)
            positions = torch.arange(ids.shape[1], device=device).expand_as(ids)
            hidden = target.embedding[ids]
            for layer in range(target.shape.layers):
                q, k, v = target._qkv(layer, hidden, positions)
                self._k[layer][into, :, : ids.shape[1]] = k
                self._v[layer][into, :, : ids.shape[1]] = v
                mixed = functional.scaled_dot_product_attention(q, *target._shared(k, v), is_causal=True)
                hidden = target._after(layer, hidden, mixed)
            self._token[into] = torch.tensor([int(prompt[-1]) for prompt in some], device=device)
            self._position[into] = torch.tensor([len(prompt) - 1 for prompt in some], device=device)
            self._temperature[into, 0] = torch.tensor(temperatures[start : start + together], device=device)
            self._step[into] = 0

    def run(self, steps: int) -> np.ndarray:
        """Take so many steps. What each row has written since it began, int32 [rows, room]."""
        for _ in range(steps):
            self._replay()
        return self._written.cpu().numpy().astype(np.int32)

    def _captured(self) -> Callable[[], None]:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._advance()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._advance()
        for each in (self._token, self._position, self._step):
            each.zero_()
        return graph.replay

    def _advance(self) -> None:
        target, shape = self._target, self._target.shape
        rows = torch.arange(len(self._token), device=target.device)
        seen = torch.arange(self._k.shape[3], device=target.device)[None] <= self._position[:, None]
        mask = seen[:, None, None].expand(-1, shape.kv_heads, shape.heads // shape.kv_heads, -1)
        hidden = target.embedding[self._token][:, None]
        for layer in range(shape.layers):
            q, k, v = target._qkv(layer, hidden, self._position[:, None])
            self._k[layer][rows, :, self._position] = k[:, :, 0]
            self._v[layer][rows, :, self._position] = v[:, :, 0]
            grouped = q[:, :, 0].view(len(rows), shape.kv_heads, -1, shape.head_dim)
            mixed = functional.scaled_dot_product_attention(grouped, self._k[layer], self._v[layer], attn_mask=mask)
            hidden = target._after(layer, hidden, mixed.reshape(len(rows), -1, 1, shape.head_dim))
        logits = functional.linear(target._norm(hidden[:, 0], "output_norm.weight"), target.head).float()
        noise = -torch.log(-torch.log(torch.rand_like(logits).clamp_(1e-9, 1 - 1e-7)))
        self._token.copy_((logits + self._temperature * noise).argmax(1))
        self._written.scatter_(1, self._step[:, None], self._token[:, None])
        self._position.add_(1).clamp_(max=self._k.shape[3] - 1)  # of rows for which no prompt is left
        self._step.add_(1).clamp_(max=self._written.shape[1] - 1)


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


def padded(texts: Sequence[np.ndarray], beyond: int = 0) -> np.ndarray:
    """Token ids int64 [B, T], with zeros at the end up to `beyond` tokens more than a multiple of 8."""
    longest = -(-(max(map(len, texts)) - beyond) // 8) * 8 + beyond
    return np.stack([np.pad(text.astype(np.int64), (0, longest - len(text))) for text in texts])


def _until(row: np.ndarray, ends: Sequence[int]) -> np.ndarray:
    at = np.flatnonzero(np.isin(row, ends))
    return row[: at[0] + 1] if len(at) else row
