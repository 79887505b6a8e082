"""Q4_K and Q6_K tensors of a GGUF to floats, on the device where their bytes are."""

from __future__ import annotations

import torch
from gguf.constants import GGMLQuantizationType
from torch import Tensor

from winnow_engine.errors import UnsupportedModelError


def dequantised(raw: Tensor, kind: GGMLQuantizationType, dtype: torch.dtype) -> Tensor:
    """Elements [n] of a tensor's bytes, uint8. Raises UnsupportedModelError for other types than Q4_K and Q6_K."""
    if kind is GGMLQuantizationType.Q4_K:
        return _q4_k(raw.view(-1, 144)).to(dtype).flatten()
    if kind is GGMLQuantizationType.Q6_K:
        return _q6_k(raw.view(-1, 210)).to(dtype).flatten()
    raise UnsupportedModelError(f"cannot train with weights of the type {kind.name}: take a Q4_K_M")


def _halves(raw: Tensor) -> Tensor:
    return raw.contiguous().view(torch.float16).float()


def _shifted(raw: Tensor, width: int, shifts: list[int], mask: int) -> Tensor:
    by = torch.tensor(shifts, device=raw.device, dtype=torch.uint8).view(1, 1, -1, 1)
    return ((raw.reshape(len(raw), -1, 1, width) >> by) & mask).reshape(len(raw), -1, 32)


def _q4_k(blocks: Tensor) -> Tensor:
    d, least = _halves(blocks[:, :2]), _halves(blocks[:, 2:4])
    low, middle, high = blocks[:, 4:16].reshape(-1, 3, 4).unbind(1)
    scale = torch.cat([low & 0x3F, (high & 0x0F) | ((low >> 2) & 0x30)], 1)
    offset = torch.cat([middle & 0x3F, (high >> 4) | ((middle >> 2) & 0x30)], 1)
    quants = _shifted(blocks[:, 16:], 32, [0, 4], 0x0F)
    return (d * scale)[..., None] * quants - (least * offset)[..., None]


def _q6_k(blocks: Tensor) -> Tensor:
    low = _shifted(blocks[:, :128], 64, [0, 4], 0x0F)
    high = _shifted(blocks[:, 128:192], 32, [0, 2, 4, 6], 3)
    quants = (low | (high << 4)).to(torch.int8) - 32
    scale = _halves(blocks[:, 208:]) * blocks[:, 192:208].contiguous().view(torch.int8)
    return scale[..., None] * quants.reshape(len(blocks), 16, 16)
