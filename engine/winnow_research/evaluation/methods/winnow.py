"""Winnow itself: `Assistant.select`, which weighs all features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import numpy as np

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.errors import EvaluationError
from winnow_engine.question import Question
from winnow_engine.reranker.opening import open_reranker
from winnow_engine.selection.budget import worth
from winnow_engine.selection.subquestions import subquestions_of
from winnow_research.evaluation.methods.base import Method, Ranker, Ranking, Resources, Subject, by_units

LoadDrafter = Callable[[], Drafter]
"""Returns the drafter; loads it on the first call."""


class Winnow:
    """What a user gets: `Assistant.select`, with a budget of everything so that every unit has a score."""

    name = "Winnow"
    most_tokens: int | None = None

    def __init__(self, drafter: LoadDrafter) -> None:
        self._drafter = drafter
        self._reranker = cache(lambda: open_reranker(drafter()))  # it takes gigabytes of a GPU

    def ranker(self, subject: Subject) -> Ranker:
        """See `Method`. EvaluationError or what loading raises on a GPU without the reranker that users of one have."""
        drafter, reranker = self._drafter(), self._reranker()
        if reranker is not None:
            reranker.begin().wait_for(Cancellation())  # a question does for two seconds, or goes without
        elif drafter.reranker is not None and drafter.place == "resident":
            raise EvaluationError(str(drafter.notice))
        assistant = Assistant(subject.store, self._drafter, open_reranker=lambda _: reranker)
        units = {(file.path, unit.start_line): number for number, (file, unit) in enumerate(subject.workspace.units)}

        def rank(question: Question) -> Ranking:
            scores = np.full(len(units), -np.inf, np.float32)
            spans = assistant.select(subject.sources, question, Budget(keep_ratio=1.0)).spans
            numbers = [units[span.path, span.start_line] for span in spans]
            scores[numbers] = [span.score for span in spans]
            parts = len(subquestions_of(question.text))
            ranking = by_units(subject, question, scores, worth(scores, subject.unit_tokens, parts))
            features = (span.features for span in spans)
            return replace(ranking, features=dict(zip(numbers, features, strict=True)))

        return rank


def methods(resources: Resources) -> Iterable[Method]:
    """Winnow."""
    return (Winnow(resources.drafter),)
