"""The method without a model: words."""

from __future__ import annotations

from collections.abc import Iterable

from winnow_engine.question import Question
from winnow_research.evaluation.methods.base import Method, Ranker, Ranking, Resources, Subject, by_units


class Bm25:
    """BM25 over units."""

    name = "BM25"
    most_tokens: int | None = None

    def ranker(self, subject: Subject) -> Ranker:
        """See `Method`."""

        def rank(question: Question) -> Ranking:
            return by_units(subject, question, subject.workspace.lexical.score(subject.text_of(question)))

        return rank


def methods(_resources: Resources) -> Iterable[Method]:
    """BM25."""
    return (Bm25(),)
