"""What a task is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.corpus import Corpus


@dataclass(frozen=True, slots=True)
class EvaluationTask:
    """Questions of one kind. `scenes(corpus, tokens)` makes workspaces of at most `tokens` tokens with their questions.

    Equal corpora must give equal scenes. A task that is not `sized` takes whole repositories and ignores `tokens`.
    """

    name: str
    scenes: Callable[[Corpus, int], Iterator[Scene]]
    sized: bool = True
