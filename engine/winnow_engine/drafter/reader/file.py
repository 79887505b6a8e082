"""A reader's file, as training writes it: float16 updates of the layers, and the head."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from winnow_cuda.shapes import TransformerShape
from winnow_engine.drafter.low_rank import BAD_FILE, MATRICES, LowRank, hash_of, read_tensors
from winnow_engine.drafter.reader.head import ReaderHead
from winnow_engine.errors import ProfileError

HEAD = "head."
"""What the names of the head's tensors begin with."""


@dataclass(frozen=True, slots=True)
class ReaderFile:
    """The updates of a drafter's first `layers` layers, and the head. `identity` changes with the file."""

    path: Path
    updates: LowRank
    head: ReaderHead
    layers: int
    identity: str

    def check(self, shape: TransformerShape) -> None:
        """ProfileError if the hidden states of a drafter have another width."""
        if self.head.width != shape.width:
            raise ProfileError(
                f"{self.path} belongs to a drafter with {self.head.width} columns, this one has {shape.width}"
            )


def read_reader(path: Path) -> ReaderFile:
    """Read what `training.reader.model.Reader.save` writes. ProfileError for anything else, a NaN among it too."""
    try:
        tensors, scale = read_tensors(path)
        for name, tensor in tensors.items():
            if not np.isfinite(tensor).all():
                raise ValueError(f"{name} is not finite everywhere")
        head = ReaderHead(*(tensors[f"{HEAD}{name}"] for name in ("votes", "length", "mu", "sd")))
        updates = LowRank(tensors, scale)
        for layer, matrix, part in product(range(updates.layers), MATRICES, "ab"):
            if f"lora.{layer}.{matrix}.{part}" not in tensors:
                raise ValueError(f"it lacks lora.{layer}.{matrix}.{part}")
        return ReaderFile(path, updates, head, updates.layers, "reader-" + hash_of(path))
    except BAD_FILE as error:
        raise ProfileError(f"{path} is not a reader: {error}") from error
