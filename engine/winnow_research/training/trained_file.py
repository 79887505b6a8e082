"""What was trained of a model, in the file that the product reads: adapters and rerankers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from winnow_engine.encoder.low_rank import write_tensors

SCALE = 2.0
"""Of low-rank updates."""


def save(named: Iterable[tuple[str, Tensor]], path: Path) -> None:
    """Write tensors by name, in float16."""
    write_tensors(path, {name: np.asarray(value.detach().cpu().float().numpy()) for name, value in named}, SCALE)


@torch.no_grad()
def load(named: Iterable[tuple[str, Tensor]], path: Path) -> None:
    """Load what `save` wrote into tensors of the same names and shapes."""
    stored = load_file(path)
    for name, value in named:
        value.copy_(stored[name])
