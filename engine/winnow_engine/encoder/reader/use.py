"""How a reader is used: what it reads, and how its scores are added to those that there are.

A profile with a reader says so in its `profile.json`:

    "reader": {"file": "reader.safetensors",   in the folder
               "model": "qwen2.5-coder-1.5b",  whose layers it has: a registered one, or none for the drafter's own
               "weight": 1.0,                  of its scores, less their mean
               "tokens": 16000}                to read at most: half of units that lead, half of what these lead to
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from winnow_cuda.shapes import Float32, Int64
from winnow_engine.errors import ProfileError


def addition(weight: float, said: Float32, read: Int64, units: int) -> Float32:
    """What is added to each of so many units, float32 [units], when `said` of those `read` (int64) was that.

    It is `weight` times that, less its mean; 0 for what was not read.
    """
    added = np.zeros(units, np.float32)
    added[read] = np.float32(weight) * (said - said.mean())
    return added


@dataclass(frozen=True, slots=True)
class ReaderUse:
    """A profile's reader: its file, its use, and the registered model whose layers it has, if not the drafter."""

    file: Path
    weight: float
    tokens: int
    model: str | None = None


def use_of(document: Mapping[str, Any], file: Path) -> ReaderUse:
    """What a profile says of its reader in `file`. ProfileError if that is malformed."""
    match document:
        case {"weight": float(weight) | int(weight), "tokens": int(tokens)} if (
            tokens > 0
            and math.isfinite(weight)
            and not isinstance(weight, bool)
            and isinstance(model := document.get("model"), str | None)
        ):
            return ReaderUse(file, float(weight), tokens, model)
    raise ProfileError(f'{file.parent} does not say how its reader is used: take "reader" out of its profile.json')
