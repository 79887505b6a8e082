"""BM25 and MiniLM joined by their ranks, as retrieval tools ship words and embeddings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from winnow_engine.question import Question
from winnow_research.evaluation.methods.base import Method, Ranker, Ranking, Resources, Scores, Subject, by_units
from winnow_research.evaluation.methods.lexical import Bm25
from winnow_research.evaluation.methods.minilm import MiniLm

_K = 60  # Cormack et al. 2009


class MiniLmWithWords:
    """Reciprocal rank fusion (Cormack et al. 2009) of BM25 and MiniLM."""

    name = "words + MiniLM"
    most_tokens: int | None = None

    def __init__(self, minilm: Method) -> None:
        self._methods = (Bm25(), minilm)

    def ranker(self, subject: Subject) -> Ranker:
        """See `Method`."""
        rankers = [method.ranker(subject) for method in self._methods]

        def rank(question: Question) -> Ranking:
            words, similar = (rank(question).scores for rank in rankers)
            scores = reciprocal_ranks(words, found=words > 0) + reciprocal_ranks(similar)
            return by_units(subject, question, scores)

        return rank


def reciprocal_ranks(scores: Scores, found: np.ndarray | None = None) -> Scores:
    """1 / (60 + rank) for each of some scores, the best of which has rank 1; float32 [U].

    What is not `found`, bool [U], is in no list of results and gets 0. Of equal scores the first ranks first.
    """
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    worth = 1.0 / (_K + ranks)
    return np.asarray(worth if found is None else np.where(found, worth, 0.0), np.float32)


def methods(resources: Resources) -> Iterable[Method]:
    """Words + MiniLM."""
    return (MiniLmWithWords(MiniLm(resources.downloads)),)
