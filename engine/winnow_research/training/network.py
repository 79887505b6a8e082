"""The drafter's first layers in PyTorch, with a trainable low-rank update (LoRA, Hu et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from winnow_cuda.shapes import Int32, TransformerShape
from winnow_engine.encoder.low_rank import MATRICES
from winnow_engine.encoder.weights import GgufTensors


@dataclass(frozen=True)
class Packed:
    """Sequences in one row of tokens: ids and positions, int64 [T], and the length of each sequence."""

    ids: Tensor
    positions: Tensor
    lengths: tuple[int, ...]


def packed(
    sequences: Sequence[Int32], prefix: Int32, first_position: int, device: torch.device
) -> tuple[Packed, Tensor]:
    """Each sequence after the prefix, with positions from `first_position` on; and the rows that are not prefix."""
    lengths = tuple(len(prefix) + len(sequence) for sequence in sequences)
    ids = np.concatenate([part for sequence in sequences for part in (prefix, sequence)])
    own = [np.arange(first_position, first_position + len(sequence)) for sequence in sequences]
    positions = np.concatenate([part for after in own for part in (np.arange(len(prefix)), after)])
    starts = np.cumsum([0, *lengths[:-1]]) + len(prefix)
    rows = np.concatenate([np.arange(start, start + len(s)) for start, s in zip(starts, sequences, strict=True)])
    tensors = [torch.from_numpy(array.astype(np.int64)).to(device) for array in (ids, positions, rows)]
    return Packed(tensors[0], tensors[1], lengths), tensors[2]


class _LowRankLinear(torch.autograd.Function):
    """x W' + bias + scale · x a' b', added up where it is: passes over [T, out] cost as much time as the update."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, a: Tensor, b: Tensor, scale: float) -> Tensor:
        """[T, in] → [T, out]; `weight` and `bias` are frozen."""
        low = x @ a.T
        ctx.save_for_backward(x, weight, a, b, low)
        ctx.scale = scale
        return functional.linear(x, weight, bias).addmm_(low, b.T, alpha=scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None, None, Tensor, Tensor, None]:
        """The gradients of x, a and b."""
        x, weight, a, b, low = ctx.saved_tensors
        (given,) = gradients
        for_low = (given @ b).mul_(ctx.scale)
        for_x = (given @ weight).addmm_(for_low, a) if ctx.needs_input_grad[0] else None
        return for_x, None, None, for_low.T @ x, (given.T @ low).mul_(ctx.scale), None


class LowRank(nn.Module):
    """W x + bias + scale · b a x. Only a [rank, in] and b [out, rank] are trained; b starts at 0."""

    def __init__(self, weight: Tensor, bias: Tensor | None, rank: int, scale: float) -> None:
        super().__init__()
        self.register_buffer("weight", weight, persistent=False)
        self.register_buffer("bias", bias, persistent=False)
        self.a = nn.Parameter(torch.randn(rank, weight.shape[1]) / math.sqrt(weight.shape[1]))
        self.b = nn.Parameter(torch.zeros(weight.shape[0], rank))
        self._scale = scale

    def forward(self, x: Tensor) -> Tensor:
        """[T, in] → [T, out]."""
        weight, bias = self.get_buffer("weight"), self._buffers["bias"]
        a, b = self.a.to(x.dtype), self.b.to(x.dtype)
        return _LowRankLinear.apply(x, weight, bias, a, b, self._scale)  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def merge(self) -> None:
        """Make the update part of the weight, and start another that is nothing."""
        self.get_buffer("weight").add_(self._scale * (self.b @ self.a))
        self.b.zero_()


class Layer(nn.Module):
    """One decoder layer."""

    def __init__(self, tensors: GgufTensors, index: int, shape: TransformerShape, rank: int, scale: float) -> None:
        super().__init__()
        self._shape = shape
        for name in ("attn_norm", "ffn_norm", "attn_q_norm", "attn_k_norm"):
            self.register_buffer(name, _tensor(tensors, f"blk.{index}.{name}.weight"), persistent=False)
        for name in MATRICES:
            weight = _tensor(tensors, f"blk.{index}.{name}.weight")
            assert weight is not None, name
            self.add_module(name, LowRank(weight, _tensor(tensors, f"blk.{index}.{name}.bias"), rank, scale))

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor], layout: Layout) -> Tensor:
        """[T, width] → [T, width]; attention is causal within each sequence."""
        shape = self._shape
        h = self._norm("attn_norm", x)
        q = self._heads("attn_q", h, shape.heads)
        k = self._heads("attn_k", h, shape.kv_heads)
        v = self.get_submodule("attn_v")(h).view(len(h), shape.kv_heads, shape.head_dim)
        q, k = (_rotated(part, rotation, shape.rope_interleaved) for part in (q, k))
        k, v = (part.repeat_interleave(shape.group, 1) for part in (k, v))
        q, k, v = (layout.padded(part) for part in (q, k, v))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.get_submodule("attn_output")(layout.rows_of(attended))
        h = self._norm("ffn_norm", x)
        gate = functional.silu(self.get_submodule("ffn_gate")(h))
        return x + self.get_submodule("ffn_down")(gate * self.get_submodule("ffn_up")(h))

    def _norm(self, name: str, x: Tensor) -> Tensor:
        return functional.rms_norm(x, x.shape[-1:], self.get_buffer(name).to(x.dtype), self._shape.rms_eps)

    def _heads(self, name: str, h: Tensor, heads: int) -> Tensor:
        x = self.get_submodule(name)(h).view(len(h), heads, self._shape.head_dim)
        norm = f"{name}_norm"
        return x if self._buffers[norm] is None else self._norm(norm, x)


class Layout:
    """Maps the rows of packed sequences to those of padded sequences."""

    def __init__(self, lengths: Sequence[int], device: torch.device) -> None:
        self._sequences, self._longest = len(lengths), max(lengths)
        self._equal = min(lengths) == self._longest
        if self._equal:
            return
        counts = np.asarray(lengths)
        starts = np.cumsum(counts) - counts
        shift = np.repeat(np.arange(len(counts)) * self._longest - starts, counts)
        self._places = torch.from_numpy(np.arange(int(counts.sum())) + shift).to(device)

    def padded(self, rows: Tensor) -> Tensor:
        """[T, heads, D] → [sequences, heads, longest, D], with zeros after the shorter sequences."""
        if self._equal:
            return rows.view(self._sequences, self._longest, *rows.shape[1:]).transpose(1, 2)
        out = rows.new_zeros(self._sequences * self._longest, *rows.shape[1:]).index_copy(0, self._places, rows)
        return out.view(self._sequences, self._longest, *rows.shape[1:]).transpose(1, 2)

    def rows_of(self, padded: Tensor) -> Tensor:
        """The inverse of `padded`, with heads side by side: [T, heads · D]."""
        rows = padded.transpose(1, 2).reshape(self._sequences * self._longest, -1)
        return rows if self._equal else rows.index_select(0, self._places)


class Network(nn.Module):
    """Token ids → hidden states after the last of `shape.layers` layers, without a final norm."""

    recomputed = 0
    """In how many layers the backward pass computes everything again, which saves memory and takes time."""

    def __init__(self, tensors: GgufTensors, shape: TransformerShape, rank: int, scale: float) -> None:
        super().__init__()
        self._shape = shape
        embedding = torch.from_numpy(tensors.read("token_embd.weight"))
        self.register_buffer("embedding", embedding, persistent=False)
        self.layers = nn.ModuleList(Layer(tensors, index, shape, rank, scale) for index in range(shape.layers))

    def forward(self, batch: Packed) -> Tensor:
        """Hidden states [T, width] in the dtype of the embedding."""
        x = functional.embedding(batch.ids, self.get_buffer("embedding"))
        rotation = _rotation(batch.positions, self._shape)
        layout = Layout(batch.lengths, x.device)
        for index, layer in enumerate(self.layers):
            again = index < self.recomputed and torch.is_grad_enabled()
            x = checkpoint(layer, x, rotation, layout, use_reentrant=False) if again else layer(x, rotation, layout)
        return x

    def named_updates(self) -> Iterator[tuple[str, Tensor]]:
        """The updates' tensors, under their names in an adapter's file."""
        for index, layer in enumerate(self.layers):
            for name in MATRICES:
                update = layer.get_submodule(name)
                assert isinstance(update, LowRank)
                yield f"lora.{index}.{name}.a", update.a
                yield f"lora.{index}.{name}.b", update.b

    def merge(self) -> None:
        """Make the updates part of the frozen weights."""
        for module in self.modules():
            if isinstance(module, LowRank):
                module.merge()

    def compute_in(self, dtype: torch.dtype) -> None:
        """Hold the frozen weights in `dtype` and compute in it. Trained weights stay float32."""
        for module in self.modules():
            for name, buffer in module.named_buffers(recurse=False):
                setattr(module, name, buffer.to(dtype))


def _tensor(tensors: GgufTensors, name: str) -> Tensor | None:
    value = tensors.maybe(name)
    return None if value is None else torch.from_numpy(value)


def _rotation(positions: Tensor, shape: TransformerShape) -> tuple[Tensor, Tensor]:
    """Cosines and sines of RoPE (Su et al. 2021), float32 [T, 1, D / 2]."""
    steps = torch.arange(0, shape.head_dim, 2, device=positions.device, dtype=torch.float32) / shape.head_dim
    angles = positions.float()[:, None, None] / shape.rope_base**steps
    return angles.cos(), angles.sin()


def _rotated(x: Tensor, rotation: tuple[Tensor, Tensor], interleaved: bool) -> Tensor:
    cos, sin = rotation
    if interleaved:
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2).to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)
