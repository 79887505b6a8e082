"""Winnow itself: the drafter's profile alone, one head alone, and `Assistant.select`, which weighs all features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.heads import HeadsProfile, ScoringHead
from winnow_engine.encoder.weights import shape_of
from winnow_engine.errors import EvaluationError
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.models.gguf_header import read_header
from winnow_engine.question import Question
from winnow_engine.reranker.opening import open_reranker
from winnow_engine.selection.budget import worth
from winnow_engine.selection.subquestions import subquestions_of
from winnow_engine.selection.unit_features import zscore
from winnow_research.evaluation.methods.base import Method, Ranker, Ranking, Resources, Subject, by_units

# The best single head of the default drafter, found on packages outside all splits.
_ONE_HEAD = ScoringHead(layer=7, head=11, feature="all", weight=1.0)

LoadDrafter = Callable[[], Drafter]
"""Returns the drafter; loads it on the first call."""


class ProfileAlone:
    """The drafter's scoring heads or adapter alone: the sum of its standardised scores."""

    most_tokens: int | None = None

    def __init__(self, name: str, drafter: LoadDrafter) -> None:
        self.name, self._drafter = name, drafter

    def ranker(self, subject: Subject) -> Ranker:
        """See `Method`."""
        drafter = self._drafter()
        keys = KeyCache(subject.store, drafter).of(subject.workspace, lambda _: None, Cancellation())

        def rank(question: Question) -> Ranking:
            scored = drafter.score(keys.arrays, keys.offsets, question.text, subject.code_at(question))
            return by_units(subject, question, np.sum([zscore(scores) for scores in scored.values()], axis=0))

        return rank


def with_one_head(file: Path) -> Drafter:
    """The drafter with a profile of one head, nothing learned. EvaluationError if it has no such head."""
    shape = shape_of(read_header(file), 1)
    if _ONE_HEAD.head >= shape.heads:
        raise EvaluationError(f"{file.name} has {shape.heads} heads: this method is for the default drafter")
    return Drafter(file, HeadsProfile([_ONE_HEAD], shape.group))


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
            for span in assistant.select(subject.sources, question, Budget(keep_ratio=1.0)).spans:
                scores[units[span.path, span.start_line]] = span.score
            parts = len(subquestions_of(question.text))
            return by_units(subject, question, scores, worth(scores, subject.unit_tokens, parts))

        return rank


def methods(resources: Resources) -> Iterable[Method]:
    """one head, profile, Winnow."""
    one_head = cache(lambda: with_one_head(resources.drafter_file))
    return ProfileAlone("one head", one_head), ProfileAlone("profile", resources.drafter), Winnow(resources.drafter)
