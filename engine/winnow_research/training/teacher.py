"""What a reranker says of the units that lead for a question, as something for an adapter to learn.

The reranker reads these units with the question. What it says and the scores of an adapter as it was, added up as in
the product, give each unit a chance; the heads learn the chances beside the golds (knowledge distillation, Hinton et
al. 2015; with lists that a cross-encoder has read, Santhanam et al. 2022, section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from winnow_cuda.shapes import Float32, Int64
from winnow_engine.models.gguf_header import read_header
from winnow_engine.reranker.file import read_reranker
from winnow_engine.reranker.layout import RerankerSegment
from winnow_research.training.batches import TrainingBatch
from winnow_research.training.drafter import TrainableDrafter
from winnow_research.training.reranker.choosing import fitting
from winnow_research.training.reranker.lists import text_of
from winnow_research.training.reranker.model import TrainableReranker, batch_of

_KINDS = ("asked", "chained", "changed", "commit", "describe", "name", "reported", "translated", "written")
_QUESTIONS, _TOGETHER = 48, 16  # of a batch; read at a time
_LEADING = 120  # columns that may be read for a question
_SEGMENT_TOKENS = 2_048
_LONGEST = 400  # tokens of a question, of which little room would be left
_NONE = -1e4  # a logarithm


@dataclass(frozen=True)
class _Read:
    """What is read for a question of a batch."""

    row: int
    segments: tuple[RerankerSegment, ...]
    columns: Int64  # of the units, in the order in which they are read


class Teacher:
    """A reranker, and the adapter whose leading units it reads."""

    def __init__(self, before: TrainableDrafter, reranker: Path, model: Path) -> None:
        """A reranker with the layers of `model`, on the adapter's device. Raises the errors of both files."""
        file = read_reranker(reranker, read_header(model))
        self._reader = TrainableReranker(model, file.layers, file.updates.rank)
        self._reader.load(reranker)
        self._before = before
        for part in (self._reader, before):
            part.requires_grad_(False)
            part.network.merge()
        if before.device.type == "cuda":
            self._reader.network.compute_in(torch.bfloat16)
        self._reader.to(before.device)

    def divergence(self, batch: TrainingBatch, scores: Sequence[Tensor]) -> Tensor:
        """How far the heads are from the teacher's chances: Σ p (ln p − ln q), the mean over questions, summed.

        `scores` are each head's, [questions, columns]; q are their chances among the units that the teacher read.
        """
        with torch.no_grad():
            leading = self._leading(batch)
            reads = self._reads(batch, leading)
            if not reads:
                return scores[0].new_zeros(())
            said = self._said(reads)
        rows = torch.tensor([read.row for read in reads], device=leading.device)
        columns = np.zeros((len(reads), max(map(len, said))), np.int64)
        own, there = np.zeros_like(columns, np.float32), np.zeros_like(columns, np.bool_)
        for place, (read, each) in enumerate(zip(reads, said, strict=True)):
            columns[place, : len(each)], own[place, : len(each)], there[place, : len(each)] = read.columns, each, True
        shown, added, absent = (torch.from_numpy(part).to(leading.device) for part in (columns, own, ~there))
        target = _log_chances(leading[rows].gather(1, shown) + added, absent)
        found = [_log_chances(each.index_select(0, rows).gather(1, shown), absent) for each in scores]
        return torch.stack([(target.exp() * (target - one)).sum(1).mean() for one in found]).sum()

    def _leading(self, batch: TrainingBatch) -> Tensor:
        """The scores before training, the mean of both heads: float32 [questions, columns]."""
        units = self._before.units(batch.segments, batch.column_tokens)
        return torch.stack(self._before.heads(units, self._before.questions(batch.questions))).mean(0).float()

    def _reads(self, batch: TrainingBatch, leading: Tensor) -> list[_Read]:
        """What is read, for as many questions as are taught."""
        data = batch.data
        rows = [
            row
            for row, question in enumerate(batch.asked)
            if data.kinds[data.kind_of[question]] in _KINDS and len(data.questions[question]) < _LONGEST
        ]
        chosen = np.random.default_rng(batch.asked).permutation(rows)[:_QUESTIONS].astype(np.int64)
        scores = leading[torch.from_numpy(chosen).to(leading.device)].cpu().numpy()
        return [_read(batch, row, score) for row, score in zip(chosen.tolist(), scores, strict=True)]

    def _said(self, reads: Sequence[_Read]) -> list[Float32]:
        """What the reranker says of each question's units, less the mean."""
        found: list[Float32] = []
        for start in range(0, len(reads), _TOGETHER):
            some = reads[start : start + _TOGETHER]
            segments = [segment for read in some for segment in read.segments]
            said = self._reader(batch_of(segments, _SEGMENT_TOKENS, len(segments), self._reader.device))
            found += [
                (each - each.mean()).float().cpu().numpy() for each in said.split([len(read.columns) for read in some])
            ]
        return found


def _read(batch: TrainingBatch, row: int, leading: Float32) -> _Read:
    """A segment of a question's golds and the units that lead, by their best column."""
    data, question = batch.data, batch.asked[row]
    aside = batch.ignored[1, batch.ignored[0] == row]
    scores = leading.copy()
    scores[aside] = -np.inf
    golds = batch.positives[1, batch.positives[0] == row]
    order = [*golds[np.argsort(-scores[golds], kind="stable")], *np.argsort(-scores, kind="stable")[:_LEADING]]
    best: dict[int, int] = {}
    for column in order:
        if np.isfinite(scores[column]):
            best.setdefault(int(batch.unit_of[column]), int(column))
    texts = {unit: text_of(data, unit, bool(batch.bare[unit])) for unit in best}
    units = np.array(list(best), np.int64)
    segments, shown = fitting(units, texts, data.prefix, data.questions[question], 1, _SEGMENT_TOKENS)
    return _Read(row, segments, np.array([best[unit] for unit in shown.tolist()], np.int64))


def _log_chances(scores: Tensor, absent: Tensor) -> Tensor:
    """ln of each row's softmax; of what is absent, 0, so that it adds nothing."""
    return scores.masked_fill(absent, _NONE).log_softmax(1).masked_fill(absent, 0)
