"""The reranker in PyTorch: all layers of the drafter with low-rank updates, and a score for each unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from winnow_engine.encoder.weights import GgufTensors, shape_of
from winnow_engine.models.gguf_header import read_header
from winnow_engine.reranker.file import HEAD
from winnow_engine.reranker.layout import RerankerSegment
from winnow_research.training import trained_file
from winnow_research.training.heads import Segments, Standardised
from winnow_research.training.network import Network, Packed
from winnow_research.training.trained_file import SCALE


@dataclass(frozen=True)
class ReadBatch:
    """Segments of equal length with padding behind them, on a device.

    `rows` int64 [R] are the rows of the units' tokens, unit after unit in the order of the segments; `units` their
    runs, and `last` int64 [units] the places in `rows` where they end.
    """

    packed: Packed
    rows: Tensor
    units: Segments
    last: Tensor


def batch_of(segments: Sequence[RerankerSegment], length: int, count: int, device: torch.device) -> ReadBatch:
    """`segments` as rows of `length` tokens each, filled up to `count` sequences."""
    ids = np.zeros((count, length), np.int64)
    for row, segment in enumerate(segments):
        ids[row, : len(segment.ids)] = segment.ids
    runs = [
        np.arange(row * length + start, row * length + stop)
        for row, segment in enumerate(segments)
        for start, stop in zip(segment.starts.tolist(), segment.stops.tolist(), strict=True)
    ]
    rows, positions = np.concatenate(runs), np.tile(np.arange(length), count)
    lengths = np.array([len(run) for run in runs], np.int64)
    arrays = (ids.ravel(), positions, rows, np.cumsum(lengths) - 1)
    moved = [torch.from_numpy(part).to(device) for part in arrays]
    return ReadBatch(Packed(moved[0], moved[1], (length,) * count), moved[2], Segments(lengths, device), moved[3])


class TrainableRerankerHead(Standardised):
    """A unit's score: what its tokens say on weighted average, what its last one says, and its length.

    The last token has read the question and the whole unit, but a unit of hundreds of tokens may answer in a line
    that it hardly attends to: each token has a vote, weighted by one that is learned. Both are linear in hidden states
    that are standardised by column, as the first stage's heads are, for a few columns are a thousand times as large as
    the others.
    """

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.votes = nn.Parameter(torch.zeros(3, width))  # of each token, its weight, of the last token
        self.length = nn.Parameter(torch.zeros(1))

    def forward(self, hidden: Tensor, units: Segments, last: Tensor) -> Tensor:
        """From hidden states [R, width] of the units' rows, `last` of them ending units: float32 [units]."""
        x = self.normalised(hidden)
        votes = x @ self.votes.T
        weights = functional.softplus(votes[:, 1])
        pooled = units.sum(votes[:, 0] * weights) / units.sum(weights)
        return pooled + votes[:, 2].index_select(0, last) + self.length * units.log_length


class TrainableReranker(nn.Module):
    """The first `layers` layers of a drafter with low-rank updates of rank `rank`, and the head."""

    def __init__(self, drafter: Path, layers: int, rank: int) -> None:
        """Raises ModelNotFoundError, ModelDamagedError, UnsupportedModelError or ProfileError."""
        super().__init__()
        header = read_header(drafter)
        shape = shape_of(header, layers)
        self.network = Network(GgufTensors(drafter, header), shape, rank, SCALE)
        self.head = TrainableRerankerHead(shape.width)

    @property
    def device(self) -> torch.device:
        """The device that the model computes on."""
        return self.head.length.device

    def hidden(self, batch: ReadBatch) -> Tensor:
        """Hidden states of the units' rows, [R, width]."""
        found: Tensor = self.network(batch.packed)
        return found.index_select(0, batch.rows)

    def forward(self, batch: ReadBatch) -> Tensor:
        """The scores of the units, float32 [units]."""
        scores: Tensor = self.head(self.hidden(batch), batch.units, batch.last)
        return scores

    def save(self, path: Path) -> None:
        """Write what was trained in float16, and what the head measured."""
        trained_file.save(self._named(), path)

    def load(self, path: Path) -> None:
        """Load what `save` wrote of a reranker with the same layers and rank."""
        trained_file.load(self._named(), path)

    def _named(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.network.named_updates()
        for name, value in self.head.state_dict(keep_vars=True).items():
            yield f"{HEAD}{name}", value
