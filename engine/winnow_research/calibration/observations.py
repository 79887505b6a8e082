"""Questions with known answers as the product sees them: features and golds, to which weights are fitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Cancellation, ProgressSink, Scores
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.question import Cursor
from winnow_engine.selection.answerability import match_features
from winnow_engine.selection.fusion import question_features
from winnow_engine.selection.scoring_input import ask_drafter
from winnow_engine.selection.unit_features import unit_features
from winnow_research.evaluation.cases import Gold, Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import indexed
from winnow_research.evaluation.parallel import WorkItem
from winnow_research.evaluation.tasks import all_tasks


@dataclass(frozen=True, slots=True)
class Observation:
    """One question: its features, those of each unit, float32 [U] by name, and which units are golds.

    `match` are the answerability features that do not depend on the fusion's weights. `at_cursor` are the units at the
    cursor, which are given and therefore no golds.
    """

    task: str
    question: dict[str, float]
    match: dict[str, float]
    units: dict[str, Scores]
    golds: NDArray[np.int64]
    at_cursor: NDArray[np.int64]


@dataclass(frozen=True)
class Observer:
    """Asks a drafter the questions of the evaluation."""

    corpus: Corpus
    cache: KeyCache
    progress: ProgressSink
    cancellation: Cancellation

    def all_of(self, item: WorkItem) -> list[Observation]:
        """The observation of every question of an item."""
        corpus = replace(self.corpus, asked=item.repository)
        scenes = all_tasks()[item.task].scenes(corpus, item.tokens)
        return [one for scene in scenes for one in observe(scene, self.cache, self.progress, self.cancellation)]


def observe(scene: Scene, cache: KeyCache, progress: ProgressSink, cancellation: Cancellation) -> Iterator[Observation]:
    """The observation of each of a scene's questions."""
    workspace = Workspace(indexed(scene.files))
    keys = cache.of(workspace, progress, cancellation)
    for case in scene.cases:
        located = workspace.located(case.question)
        asked = ask_drafter(workspace, keys, cache.drafter, located, cancellation)
        at_cursor = _units(workspace, [case.question.cursor] if case.question.cursor else [])
        golds = np.setdiff1d(_units(workspace, case.golds), at_cursor)
        question, units = question_features(asked), unit_features(asked)
        yield Observation(case.task, question, match_features(asked, question, units), units, golds, at_cursor)


def _units(workspace: Workspace, places: Sequence[Gold | Cursor]) -> NDArray[np.int64]:
    """The numbers of the units that hold the lines of some places, each once and in order."""
    return np.array(sorted({unit for lines in places for unit in workspace.units_at(lines)}), np.int64)
