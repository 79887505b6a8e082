"""How a reader is used: what it reads of which questions, and how its scores are added to those that there are.

A profile with a reader says so in its `profile.json`:

    "reader": {"file": "reader.safetensors",   in the folder
               "weight": 0.75,                 of its scores, less their mean
               "lowest": false,                whether units that were not read get the lowest of that, or its mean, 0
               "read": "reachable",            units that lead (`leading`), or half of these and what they lead to
               "tokens": 16000,                to read at most
               "parts": [0, 2]}                fewest and most sub-questions of a question that it is asked
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

LEADING, REACHABLE = "leading", "reachable"


@dataclass(frozen=True, slots=True)
class Addition:
    """How a reader's scores are added: `weight` times them, less their mean.

    What was not read gets the `lowest` of that, or its mean.
    """

    weight: float
    lowest: bool

    def of(self, said: Float32, read: Int64, units: int) -> Float32:
        """What is added to each of so many units, float32 [units], when `said` of those `read` (int64) was that."""
        said = said - said.mean()
        added = np.full(units, said.min() if self.lowest else 0, np.float32)
        added[read] = said
        return np.asarray(np.float32(self.weight) * added, np.float32)


@dataclass(frozen=True, slots=True)
class ReaderUse:
    """A profile's reader: its file, and how it is used."""

    file: Path
    addition: Addition
    read: str
    tokens: int
    parts: tuple[int, int]

    def asks(self, subquestions: int) -> bool:
        """Whether it is asked questions with so many sub-questions."""
        return self.parts[0] <= subquestions <= self.parts[1]


def use_of(document: Mapping[str, Any], file: Path) -> ReaderUse:
    """What a profile says of its reader in `file`. ProfileError if that is malformed."""
    match document:
        case {
            "weight": float(weight) | int(weight),
            "lowest": bool(lowest),
            "read": ("leading" | "reachable") as read,
            "tokens": int(tokens),
            "parts": [int(fewest), int(most)],
        } if tokens > 0 and math.isfinite(weight) and not isinstance(weight, bool):
            return ReaderUse(file, Addition(float(weight), lowest), read, tokens, (fewest, most))
    raise ProfileError(f'{file.parent} does not say how its reader is used: take "reader" out of its profile.json')
