"""A reranker's file, as training writes it: float16 updates of the layers, and the head."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from winnow_cuda.shapes import Float32
from winnow_engine.encoder.low_rank import BAD_FILE, MATRICES, LowRankUpdates, Tensors, fits, hash_of, read_tensors
from winnow_engine.encoder.weights import shape_of
from winnow_engine.errors import ProfileError
from winnow_engine.models.gguf_header import GgufHeader
from winnow_engine.reranker.head import RerankerHead

HEAD = "head."
"""The prefix of the names of the head's tensors."""

_REMEDY = "copy it there again, or take the reranker out of the profile.json beside it"


@dataclass(frozen=True, slots=True)
class RerankerFile:
    """The updates of a drafter's first `layers` layers, and the head. `identity` changes with the file."""

    updates: LowRankUpdates
    head: RerankerHead
    layers: int
    identity: str


def read_reranker(path: Path, drafter: GgufHeader) -> RerankerFile:
    """Read what `training.reader.model.Reranker.save` writes. ProfileError unless it is a reranker of this drafter.

    UnsupportedModelError if the drafter is none that can run.
    """
    try:
        tensors, scale = read_tensors(path)
        for name, tensor in tensors.items():
            if not np.isfinite(tensor).all():
                raise ValueError(f"{name} is not finite everywhere")
        head = RerankerHead(*(tensors[f"{HEAD}{name}"] for name in ("votes", "length", "mu", "sd")))
        updates = LowRankUpdates(tensors, scale)
        width = shape_of(drafter, updates.layers).width
        parts = [_update(tensors, *which) for which in product(range(updates.layers), MATRICES)]
        identity = "reader-" + hash_of(path)  # names the merged weights on users' disks
    except BAD_FILE as error:
        raise ProfileError(f"{path} is not a reranker: {error}; {_REMEDY}") from error
    if head.width != width:
        raise ProfileError(f"{path} belongs to a drafter with {head.width} columns, this one has {width}")
    for name, a, b in parts:
        there = drafter.tensors.get(name)
        fits(a, b, name, there.shape if there else ())
    return RerankerFile(updates, head, updates.layers, identity)


def _update(tensors: Tensors, layer: int, matrix: str) -> tuple[str, Float32, Float32]:
    """The name of a matrix in a GGUF, and its a and b. KeyError."""
    a, b = (tensors[f"lora.{layer}.{matrix}.{part}"] for part in "ab")
    return f"blk.{layer}.{matrix}.weight", a, b
