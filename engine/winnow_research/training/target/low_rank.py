"""A Qwen2 with a low-rank update of some matrices (LoRA, Hu et al. 2021), and the update as llama.cpp reads it."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from gguf import GGUFWriter
from torch import Tensor
from torch.nn import functional

from winnow_research.training.qwen2 import Qwen2

ALL = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
ATTENTION = ALL[:4]
_SCALE = 2.0


class TaughtQwen2(Qwen2):
    """W x + bias + 2 b a x for the chosen matrices of each layer: only a [rank, in] and b [out, rank] are trained."""

    def __init__(self, path: Path, device: torch.device, rank: int, matrices: tuple[str, ...]) -> None:
        """Raises ModelNotFoundError, ModelDamagedError or UnsupportedModelError."""
        super().__init__(path, device)
        self.rank = rank
        self.updates: dict[str, tuple[Tensor, Tensor]] = {}
        for name in (f"blk.{layer}.{matrix}" for layer in range(self.shape.layers) for matrix in matrices):
            out, width = self._weights[f"{name}.weight"].shape
            a = (torch.randn(rank, width) / math.sqrt(width)).to(device).requires_grad_()
            self.updates[name] = a, torch.zeros(out, rank, device=device).requires_grad_()

    def linear(self, name: str, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """See `Qwen2.linear`."""
        found = super().linear(name, x, bias)
        if name not in self.updates:
            return found
        a, b = self.updates[name]
        return found + _SCALE * functional.linear(functional.linear(x, a.to(x.dtype)), b.to(x.dtype))

    def save(self, out: Path) -> None:
        """Write the update in float16 for `llama_adapter_lora_init`."""
        writer = GGUFWriter(out, "qwen2")
        writer.add_type("adapter")
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", self.rank * _SCALE)
        for name, pair in self.updates.items():
            for kind, part in zip("ab", pair, strict=True):
                writer.add_tensor(f"{name}.weight.lora_{kind}", part.detach().cpu().half().numpy())
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
