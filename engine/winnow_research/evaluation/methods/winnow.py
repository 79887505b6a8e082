"""Winnow itself: `Assistant.ranked`, which weighs all features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.question import Question
from winnow_engine.reranker.background import open_reranker
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.methods.base import Method, Ranker, Ranking, Resources, Subject

LoadDrafter = Callable[[], Drafter]
"""Returns the drafter; loads it on the first call."""


class Winnow:
    """What a user gets: `Assistant.ranked`, with a budget of everything so that every unit has a score."""

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

        def rank(question: Question) -> Ranking:
            ranked = assistant.ranked(subject.sources, question, Budget(keep_ratio=1.0))
            shown = ranked.shown
            return Ranking(shown.total, ranked.pieces, shown.contributions_to)

        return rank


def methods(resources: Resources) -> Iterable[Method]:
    """Winnow."""
    return (Winnow(resources.drafter),)
