"""Files in which a training that was stopped is found again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from winnow_research.errors import TrainingError


def save(state: Mapping[str, Any], path: Path) -> None:
    """Write a checkpoint in place of the one before, which stays whole until this one is."""
    part = path.with_suffix(".part")
    torch.save(dict(state), part)
    part.replace(path)


def load(path: Path, device: torch.device, recipe: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Read a checkpoint to `device`. With a recipe, TrainingError unless the state's `recipe` is that one."""
    state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    if recipe is not None and state["recipe"] != recipe:
        raise TrainingError(f"{path} is a checkpoint of another recipe: name another file, or delete it")
    return state
