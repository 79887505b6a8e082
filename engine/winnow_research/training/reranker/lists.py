"""What the first stage leads with: for each question, units of its project with the scores of the shipped adapter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from winnow_cuda.shapes import Float32, Int32, Int64
from winnow_engine.encoder.adapter import AdapterProfile
from winnow_engine.encoder.segments import SEGMENT_TOKENS, Segment, cut, pack
from winnow_engine.reranker.layout import UnitText
from winnow_engine.selection.budget import density
from winnow_research.training.dataset import Dataset, Rows, rows
from winnow_research.training.drafter import TrainableDrafter
from winnow_research.training.heads import HiddenStates, Segments
from winnow_research.training.processes import team

_BATCH_TOKENS = 32 * SEGMENT_TOKENS
_ASKED_TOKENS = 4_096  # of questions, that are scored at a time
_LEADING, _ANYWHERE = 400, 100  # units in a list
_EXPONENT = 0.8  # of a unit's tokens, as where the product fills a budget
_TURNS = {"asked": 6, "chained": 6, "commit": 6, "reported": 3, "changed": 3, "describe": 2, "multi": 2, "cursor": 2}


@dataclass(frozen=True)
class ListRecipe:
    """Which questions get lists: so many, of `projects` projects (0: all); kinds take turns, one if not named."""

    questions: int = 16_384
    projects: int = 0
    turns: Mapping[str, int] = field(default_factory=lambda: dict(_TURNS))
    seed: int = 0


@dataclass(frozen=True)
class Lists:
    """Questions in the order in which they are to be learned, each with some units of its project.

    The golds come first, then the units that lead, in the first stage's order, then some drawn from the rest.
    """

    questions: Int64  # [N]
    units: Rows  # int64, by question
    leading: Int64  # [N]: how many units of the list are golds or lead
    scores: Rows  # float32, as `units`: deviations of maxsim and of pool from their means over the project, in turn
    bare: NDArray[np.bool_]  # [projects]: whether the units are shown without the lines that questions quote

    def __len__(self) -> int:
        return len(self.questions)

    def first(self, row: int) -> Float32:
        """The first stage's scores of a list's units, float32 [units, 2]."""
        return self.scores[row].reshape(-1, 2)


def lists_of(
    drafter: Path, adapter: Path, data: Dataset, recipe: ListRecipe, device: torch.device, say: Callable[[str], None]
) -> Lists:
    """The lists of the recipe's questions. Under `torchrun`, each process scores its share of the projects.

    Raises ProfileError if `adapter` is none, and the drafter's errors.
    """
    shipped = AdapterProfile(adapter)
    model = TrainableDrafter(drafter, data.prefix, shipped.layers, shipped.rank)
    model.load(adapter)
    model.network.merge()
    if device.type == "cuda":
        model.network.compute_in(torch.bfloat16)
    model.to(device)
    bare = np.random.default_rng(recipe.seed).random(len(data.projects)) < 0.5
    chosen = questions_of(data, recipe, bare)
    home = projects_of(data)
    found: dict[int, tuple[Int64, int, Float32]] = {}
    processes = team()
    projects = np.unique(home[chosen])[processes.rank :: processes.count]
    for done, project in enumerate(projects.tolist(), 1):
        rng = np.random.default_rng([recipe.seed, 2, project])
        space = _Project(data, project, bool(bare[project]))
        asked = [int(question) for question in chosen if home[question] == project]
        for question, scores in space.scored(model, asked):
            found[question] = space.listed(question, scores, rng)
        if done % 50 == 0 or done == len(projects):
            say(f"lists: {done} of {len(projects)} projects")
    found = processes.gathered(found)
    parts = [found[question] for question in chosen.tolist()]
    return Lists(
        chosen,
        rows([units for units, _, _ in parts], np.int64),
        np.array([leading for _, leading, _ in parts], np.int64),
        rows([scores.ravel() for *_, scores in parts], np.float32),
        bare,
    )


def projects_of(data: Dataset) -> Int64:
    """The project of each question, int64 [questions]."""
    first = data.golds.values[data.golds.offsets[:-1]]
    return data.project_of[np.searchsorted(data.file_units, first, "right") - 1].astype(np.int64)


def questions_of(data: Dataset, recipe: ListRecipe, bare: NDArray[np.bool_]) -> Int64:
    """The questions to learn from, in order: rounds in which kinds take turns, each in random order, until enough.

    One that quotes its golds can only be asked where units are shown bare.
    """
    rng = np.random.default_rng([recipe.seed, 1])
    home = projects_of(data)
    known = rng.permutation(len(data.projects))[: recipe.projects or None]
    can = np.isin(home, known) & (~data.quotes | bare[home])
    queues: dict[int, list[int]] = defaultdict(list)
    for question in rng.permutation(np.flatnonzero(can)).tolist():
        queues[int(data.kind_of[question])].append(question)
    chosen: list[int] = []
    while any(queues.values()) and len(chosen) < recipe.questions:
        one_round: list[int] = []
        for kind, queue in sorted(queues.items()):
            turns = recipe.turns.get(data.kinds[kind], 1)
            one_round += queue[:turns]
            del queue[:turns]
        chosen += rng.permutation(one_round).tolist()
    return np.array(chosen[: recipe.questions], np.int64)


def tokens_of(data: Dataset, unit: int, bare: bool) -> Int32:
    """A unit's tokens, without the lines that questions quote if it is shown bare."""
    hidden: Int32 = data.bare[unit]
    whole: Int32 = data.units[unit]
    return hidden if bare and len(hidden) else whole


def text_of(data: Dataset, unit: int, bare: bool) -> UnitText:
    """A unit as a reranker reads it, without the lines that questions quote if it is shown bare."""
    file = data.file_of(unit)
    return UnitText(file, data.headers[file], tokens_of(data, unit, bare))


class _Project:
    """The units of one project, scored together."""

    def __init__(self, data: Dataset, project: int, bare: bool) -> None:
        self._data = data
        files = np.flatnonzero(data.project_of == project)
        self._files: list[int] = files.tolist()
        self._first, last = int(data.file_units[files[0]]), int(data.file_units[files[-1] + 1])
        self._units = [tokens_of(data, unit, bare) for unit in range(self._first, last)]
        self.tokens = np.array([len(unit) for unit in self._units], np.int32)

    @torch.no_grad()
    def scored(self, model: TrainableDrafter, questions: Sequence[int]) -> Iterator[tuple[int, Float32]]:
        """Each question's standardised scores of all units, float32 [units, 2]."""
        shown = np.flatnonzero(self.tokens)
        seen = HiddenStates(self._hidden(model), Segments(self.tokens[shown].astype(np.int64), model.device))
        for some in self._together(questions):
            scores = torch.stack(model.heads(seen, model.questions([self._data.questions[n] for n in some])), 2)
            standard = (scores - scores.mean(1, keepdim=True)) / (scores.std(1, keepdim=True, correction=0) + 1e-6)
            everywhere = np.full((len(some), len(self.tokens), 2), -3.0, np.float32)
            everywhere[:, shown] = standard.float().cpu().numpy()
            yield from zip(some, everywhere, strict=True)

    def listed(self, question: int, scores: Float32, rng: np.random.Generator) -> tuple[Int64, int, Float32]:
        """The units of a question's list, how many of them are golds or lead, and the scores of all."""
        data, first = self._data, self._first
        golds = data.golds[question]
        twins = np.isin(data.twins[first : first + len(self.tokens)], data.twins[golds])
        aside = twins | (self.tokens == 0)
        if data.asked_at[question] >= 0:
            aside[int(data.asked_at[question]) - first] = True
        order = np.argsort(-density(scores.sum(1), self.tokens, _EXPONENT), kind="stable")
        order = order[~aside[order]]
        leading, rest = order[:_LEADING], order[_LEADING:]
        some = rng.permutation(rest)[:_ANYWHERE]
        units = np.concatenate([golds - first, leading, some]).astype(np.int64)
        return units + first, len(golds) + len(leading), scores[units]

    def _hidden(self, model: TrainableDrafter) -> Tensor:
        """The hidden states of all units, [tokens, width]. Segments of about one length share a batch."""
        segments = list(self._segments())
        order = sorted(range(len(segments)), key=lambda number: len(segments[number]))
        found: dict[int, Tensor] = {}
        for group in pack((segments[number] for number in order), _BATCH_TOKENS):
            lengths = [len(segment.ids) for segment in group]
            parts = model.units(group, np.array(lengths, np.int64)).hidden.split(lengths)
            found.update(zip(order[len(found) : len(found) + len(group)], parts, strict=True))
        return torch.cat([found[number] for number in range(len(segments))])

    def _segments(self) -> Iterator[Segment]:
        for file in self._files:
            first, last = (int(unit) - self._first for unit in self._data.file_units[file : file + 2])
            yield from cut(file, self._data.headers[file], self._units[first:last])

    def _together(self, questions: Sequence[int]) -> Iterator[list[int]]:
        """Questions of at most _ASKED_TOKENS tokens together, or one."""
        some: list[int] = []
        tokens = 0
        for question in questions:
            length = len(self._data.questions[question])
            if some and tokens + length > _ASKED_TOKENS:
                yield some
                some, tokens = [], 0
            some.append(question)
            tokens += length
        if some:
            yield some
