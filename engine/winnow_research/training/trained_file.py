"""What was trained of a model, in the file that the product reads: adapters and rerankers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from winnow_engine.encoder.low_rank import read_tensors
from winnow_research.calibration.profile_writing import write_tensors
from winnow_research.errors import TrainingError

SCALE = 2.0
"""Of low-rank updates."""


def save(named: Iterable[tuple[str, Tensor]], path: Path) -> None:
    """Write tensors by name, in float16."""
    write_tensors(path, {name: np.asarray(value.detach().cpu().float().numpy()) for name, value in named}, SCALE)


@torch.no_grad()
def load(named: Iterable[tuple[str, Tensor]], path: Path) -> None:
    """Load what `save` wrote into tensors of the same names and shapes. TrainingError if it has another scale."""
    stored, scale = read_tensors(path)
    if scale != SCALE:
        raise TrainingError(f"{path} has updates of the scale {scale:g}, and training {SCALE:g}: choose another")
    for name, value in named:
        value.copy_(torch.from_numpy(stored[name]))
