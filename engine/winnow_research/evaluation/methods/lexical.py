"""Methods without a model: words, and names."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from winnow_engine.index.names import identifiers
from winnow_engine.question import Question
from winnow_research.evaluation.methods.base import Method, Ranker, Ranking, Resources, Subject, by_units

_BY_CHANCE = np.float32(0.25)  # the weight of a plain word that is also the name of some definition


class Bm25:
    """BM25 over units."""

    name = "BM25"
    most_tokens: int | None = None

    def ranker(self, subject: Subject) -> Ranker:
        """See `Method`."""

        def rank(question: Question) -> Ranking:
            return by_units(subject, question, subject.workspace.lexical.score(subject.text_of(question)))

        return rank


class Symbols:
    """Names that lead to definitions: those in the question and in the code at the cursor."""

    name = "symbols"
    most_tokens: int | None = None

    def ranker(self, subject: Subject) -> Ranker:
        """See `Method`."""

        symbols = subject.workspace.symbols

        def rank(question: Question) -> Ranking:
            code = subject.code_at(question)
            asked = symbols.asked(question.text)
            certain = asked.certain | (identifiers(code.text) if code else set())
            scores = symbols.definitions(certain) + _BY_CHANCE * symbols.definitions(asked.possible - certain)
            return by_units(subject, question, scores)

        return rank


def methods(_resources: Resources) -> Iterable[Method]:
    """BM25, symbols."""
    return Bm25(), Symbols()
