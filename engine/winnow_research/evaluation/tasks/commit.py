"""A commit's message → the units that it changed, where they stand in the pinned release, which has the change.

`winnow_research.studies.commit_questions` made the questions from clones, about repositories of the calibration and the
development split.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.tasks import real
from winnow_research.evaluation.tasks.base import Task

QUESTIONS = Path(__file__).parents[1] / "commits"


def scenes(corpus: Corpus, _tokens: int) -> Iterator[Scene]:
    """A scene for each repository with questions: the whole repository. EvaluationError if it lacks a gold."""
    for scene in real.scenes_of(corpus, QUESTIONS):
        cases = tuple(replace(case, task="commit") for case in scene.cases)
        yield replace(scene, cases=cases)


TASK = Task("commit", scenes, sized=False)
