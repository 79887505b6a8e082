"""How much of what questions need a model in training keeps, by the product's own selection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from winnow_cuda.shapes import Float32, Int64
from winnow_engine.encoder.adapter import AdapterProfile
from winnow_engine.encoder.segments import SEGMENT_TOKENS, Segment, cut, pack
from winnow_engine.selection.budget import Focus, choose
from winnow_research.evaluation.counted import CountedUnits
from winnow_research.evaluation.figures import BUDGETS
from winnow_research.training.dataset import Dataset
from winnow_research.training.drafter import TrainableDrafter
from winnow_research.training.heads import HiddenStates, Segments
from winnow_research.training.processes import device_of_process
from winnow_research.training.trainer import TrainingRecipe, new_model

_BATCH_TOKENS = 32 * SEGMENT_TOKENS
_QUESTIONS = 16  # at a time

Keep = Mapping[str, list[float]]
"""By group, the share of questions whose golds are all kept whole within each of BUDGETS, then their number."""


Scored = tuple[int, Mapping[str, Float32]]
"""A question, and by head its scores of the units of its workspace, float32 [units]."""


def recall_of(drafter: Path, data: Dataset, adapter: Path) -> dict[str, Keep]:
    """`recall` for an adapter's file. Raises ProfileError if it is not one, and the drafter's errors."""
    shipped = AdapterProfile(adapter)
    recipe = TrainingRecipe(layers=shipped.layers, rank=shipped.rank)
    model = new_model(drafter, data, recipe, device_of_process())
    model.load(adapter)
    return recall(model, data)


@torch.no_grad()
def recall(model: TrainableDrafter, data: Dataset) -> dict[str, Keep]:
    """What is kept, by head and for both heads together, for each `kind` and `kind/language`."""
    kept: dict[str, dict[str, list[list[bool]]]] = defaultdict(lambda: defaultdict(list))
    for project in range(len(data.projects)):
        space = _Space(data, project)
        for question, scored in space.scored(model):
            both = {**scored, "both": sum(map(_standard, scored.values()), np.float32(0))}
            kind = data.kinds[data.kind_of[question]]
            language = data.languages[data.language_of[question]]
            for head, scores in both.items():
                hits = space.kept(question, np.asarray(scores, np.float32))
                for group in (kind, f"{kind}/{language}"):
                    kept[head][group].append(hits)
    return {head: {group: _shares(hits) for group, hits in sorted(groups.items())} for head, groups in kept.items()}


@torch.no_grad()
def scores_of(model: TrainableDrafter, data: Dataset) -> list[Scored]:
    """The scores of every question."""
    return [scored for project in range(len(data.projects)) for scored in _Space(data, project).scored(model)]


class _Space:
    """One workspace of a data set. Its units are numbered from 0."""

    def __init__(self, data: Dataset, project: int) -> None:
        self._data = data
        files = np.flatnonzero(data.project_of == project)
        self._files: list[int] = files.tolist()
        self._first = int(data.file_units[files[0]])
        self._last = int(data.file_units[files[-1] + 1])
        self.tokens = np.diff(data.units.offsets[self._first : self._last + 1])

    def scored(self, model: TrainableDrafter) -> Iterator[Scored]:
        """The scores of every question about this workspace."""
        seen = self._seen(model)
        shown = np.flatnonzero(self.tokens)
        questions = self._questions()
        for start in range(0, len(questions), _QUESTIONS):
            some = questions[start : start + _QUESTIONS]
            found = model.heads(seen, model.questions([self._data.questions[question] for question in some]))
            by_head = {
                head: _spread(scores, shown, len(self.tokens)) for head, scores in zip(_HEADS, found, strict=True)
            }
            for row, question in enumerate(some):
                yield question, {head: scores[row] for head, scores in by_head.items()}

    def kept(self, question: int, scores: Float32) -> list[bool]:
        """For each budget, whether all golds are kept whole."""
        golds = set((self._data.golds[question] - self._first).tolist())
        at = int(self._data.asked_at[question]) - self._first
        focus = Focus((at,), (1, 1), ()) if at >= 0 else None
        source = CountedUnits(self.tokens.astype(np.int32))
        kept = [choose(source, scores, max(budget, 1), focus) for budget in BUDGETS]
        return [golds <= {piece.unit for piece in pieces if piece.tokens == self.tokens[piece.unit]} for pieces in kept]

    def _questions(self) -> list[int]:
        starts = self._data.golds.values[self._data.golds.offsets[:-1]]
        return np.flatnonzero((starts >= self._first) & (starts < self._last)).tolist()

    def _seen(self, model: TrainableDrafter) -> HiddenStates:
        groups = list(pack(self._segments(), _BATCH_TOKENS))
        hidden = [model.units(group, _lengths(group)).hidden for group in groups]
        return HiddenStates(torch.cat(hidden), Segments(self.tokens[self.tokens > 0], model.device))

    def _segments(self) -> Iterator[Segment]:
        data = self._data
        for file in self._files:
            units = range(int(data.file_units[file]), int(data.file_units[file + 1]))
            yield from cut(file, data.headers[file], [data.units[unit] for unit in units])


_HEADS = ("maxsim", "pool")


def _lengths(group: Sequence[Segment]) -> Int64:
    return np.array([len(segment.ids) for segment in group], np.int64)


def _spread(scores: Tensor, shown: NDArray[np.int64], units: int) -> Float32:
    """Scores of all units from those of the units shown. Units without tokens get the lowest score."""
    found = scores.float().cpu().numpy()
    everywhere = np.repeat(found.min(1, keepdims=True), units, 1)
    everywhere[:, shown] = found
    return np.asarray(everywhere, np.float32)


def _standard(scores: Float32) -> Float32:
    return np.asarray((scores - scores.mean()) / (scores.std() + 1e-6), np.float32)


def _shares(hits: list[list[bool]]) -> list[float]:
    return [*np.mean(hits, 0).round(4).tolist(), len(hits)]
