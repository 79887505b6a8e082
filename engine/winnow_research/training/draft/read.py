"""What the target reads in texts, kept from the first time on: reading them costs more than a step of the training."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from winnow_research.training.qwen2 import Qwen2

_KEPT = torch.float8_e4m3fn  # off by 3%; llama.cpp's features are off by 1.7%
_LARGEST = 440.0  # of `_KEPT`, about
_SPARE = 24e9  # bytes of a GPU that the training needs besides


class ReadTexts:
    """Features and choices of batches of texts. The features are normed, as the draft norms them."""

    def __init__(self, target: Qwen2, layers: Sequence[int], most_gb: float) -> None:
        """Keep up to `most_gb` of what `layers` of `target` read."""
        self._target, self._layers, self._left = target, layers, int(most_gb * 1e9)
        self._scale = _LARGEST / target.embedding.shape[1] ** 0.5  # no element of a normed row is above the root
        self._kept: dict[int, tuple[Tensor, Tensor]] = {}

    def read(self, ids: Tensor, places: Tensor, number: int | None) -> tuple[Tensor, Tensor]:
        """Features [B, R, layers, width] at `places` int64 [B, R] of tokens int64 [B, T], and choices int64 [B, R].

        A choice is what the target takes behind the token that follows. All this is kept as that of the batch
        `number`, which must always stand for the same tokens, unless it is None.
        """
        found = None if number is None else self._kept.get(number)
        features, choices = found or self._packed(ids, places)
        if number is not None and found is None and features.numel() < self._left and self._spare():
            self._left -= features.numel()
            self._kept[number] = features, choices
        return features.to(self._target.dtype), choices.long()

    def _spare(self) -> bool:
        device = self._target.device
        if device.type != "cuda":
            return True
        return torch.cuda.get_device_properties(device).total_memory - torch.cuda.memory_allocated(device) > _SPARE

    def _packed(self, ids: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        read = self._target.read(ids, self._layers, places, beyond=1)
        normed = functional.rms_norm(read.features, read.features.shape[-1:], eps=1e-6)
        return (normed * self._scale).to(_KEPT).clone(), read.choices.int().clone()
