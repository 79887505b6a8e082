"""A reranker's file, as training writes it: float16 updates of the layers, and the head."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from winnow_cuda.shapes import Float32, Int64, KeyHead
from winnow_engine.encoder.low_rank import BAD_FILE, MATRICES, LowRankUpdates, Tensors, fits, hash_of, read_tensors
from winnow_engine.encoder.weights import shape_of
from winnow_engine.errors import ProfileError
from winnow_engine.models.gguf_header import GgufHeader


@dataclass(frozen=True, slots=True)
class RerankerHead:
    """The head's weights: votes float32 [3, width], length [1], mu and sd [width]. ValueError for other shapes.

    With x̂ = (x / rms(x) − mu) / sd of a unit's N rows and the rows v, w and l of `votes`, a unit's score is
    Σ softplus(w·x̂ᵢ) (v·x̂ᵢ) / Σ softplus(w·x̂ᵢ) + l·x̂_N + length · ln(N / 100).
    """

    votes: Float32
    length: Float32
    mu: Float32
    sd: Float32

    def __post_init__(self) -> None:
        if self.mu.ndim != 1 or self.votes.shape != (3, self.width) or self.length.shape != (1,):
            raise ValueError("the tensors of its head have the wrong shapes")
        if self.sd.shape != self.mu.shape or not (self.sd > 0).all():
            raise ValueError("the deviations of its head are not above 0, one a column")

    @property
    def width(self) -> int:
        """The columns of the hidden states."""
        return len(self.mu)

    @property
    def rows(self) -> KeyHead:
        """The head of every row, with the columns v·x̂, w·x̂ and l·x̂."""
        return KeyHead(self.votes, self.mu, self.sd)

    def scores(self, read: Float32, starts: Int64, stops: Int64) -> Float32:
        """The scores of units, float32 [U], each with rows starts[u]:stops[u] of `read`, float32 [T, 3]."""
        votes, logits, last = read.astype(np.float64).T
        weights = np.logaddexp(0, logits)
        sums = np.pad(np.cumsum(np.stack([votes * weights, weights], axis=1), axis=0), ((1, 0), (0, 0)))
        votes_in, weights_in = (sums[stops] - sums[starts]).T
        lengths = np.log((stops - starts) / 100)
        return np.asarray(votes_in / weights_in + last[stops - 1] + self.length * lengths, np.float32)


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
    """Read what training saved. ProfileError unless it is this drafter's, UnsupportedModelError."""
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
