"""The message of a commit that had to change three to five files → what it changed in each, as it was before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.tasks import bug
from winnow_research.evaluation.tasks.base import EvaluationTask

QUESTIONS = Path(__file__).parents[1] / "commits"


def scenes(corpus: Corpus, tokens: int) -> Iterator[Scene]:
    """A scene for each release with later commits, as for *bug*. Their files say which commits they are."""
    yield from bug.of_commits(corpus, tokens, "files", QUESTIONS)


TASK = EvaluationTask("files", scenes)
