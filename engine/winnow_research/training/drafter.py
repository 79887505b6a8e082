"""The drafter in training: network and heads, saved to and loaded from an adapter's file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from winnow_cuda.shapes import Int32, Int64
from winnow_engine.encoder.segments import SEGMENT_TOKENS, Segment
from winnow_engine.encoder.weights import GgufTensors, shape_of
from winnow_engine.models.gguf_header import read_header
from winnow_research.training import trained_file
from winnow_research.training.heads import HiddenStates, Segments, TrainableHeads
from winnow_research.training.network import Network, packed
from winnow_research.training.trained_file import SCALE


class TrainableDrafter(nn.Module):
    """The first `layers` layers of a drafter with low-rank updates of rank `rank`, and the two heads."""

    def __init__(self, drafter: Path, prefix: Int32, layers: int, rank: int) -> None:
        """Raises ModelNotFoundError, ModelDamagedError, UnsupportedModelError or ProfileError."""
        super().__init__()
        header = read_header(drafter)
        shape = shape_of(header, layers)
        self.network = Network(GgufTensors(drafter, header), shape, rank, SCALE)
        self.heads = TrainableHeads(shape.width)
        self._prefix = prefix

    @property
    def device(self) -> torch.device:
        """The device that the model computes on."""
        return self.heads.pool.k.device

    def units(self, segments: Sequence[Segment], unit_tokens: Int64) -> HiddenStates:
        """Hidden states of the units in some segments. `unit_tokens`, each at least 1, are in the segments' order."""
        texts = [np.concatenate([segment.header, segment.ids]) for segment in segments]
        hidden = self._hidden(texts, len(self._prefix))
        lengths = [part for segment in segments for part in (len(segment.header), len(segment.ids))]
        own = np.repeat(np.tile([False, True], len(segments)), lengths)
        rows = torch.from_numpy(np.flatnonzero(own)).to(self.device)
        return HiddenStates(hidden.index_select(0, rows), Segments(unit_tokens, self.device))

    def questions(self, texts: Sequence[Int32]) -> HiddenStates:
        """Hidden states of questions. They stand as far from the prefix as the end of a full segment."""
        hidden = self._hidden(texts, len(self._prefix) + SEGMENT_TOKENS)
        return HiddenStates(hidden, Segments(np.array([len(text) for text in texts], np.int64), self.device))

    def _hidden(self, texts: Sequence[Int32], first_position: int) -> Tensor:
        batch, rows = packed(texts, self._prefix, first_position, self.device)
        hidden: Tensor = self.network(batch)
        return hidden.index_select(0, rows)

    def save(self, path: Path) -> None:
        """Write the adapter in float16, as the product reads it."""
        trained_file.save(self._named(), path)

    def load(self, path: Path) -> None:
        """Load what is trained, and what the heads measured, from an adapter with the same layers and rank."""
        trained_file.load(self._named(), path)

    def _named(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.network.named_updates()
        yield from self.heads.state_dict(keep_vars=True).items()
