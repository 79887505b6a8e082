"""A second stage after Winnow's: the units that lead are encoded once more, together, behind the question.

The product has no second stage: on a CPU it takes seconds, and it is not shown to find more (docs/lab/second-stage.md).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Cancellation, Question
from winnow_engine.drafter.encoding import FileText
from winnow_engine.selection.budget import density
from winnow_engine.selection.unit_features import zscore
from winnow_research.evaluation.methods.base import Method, Ranker, Ranking, Resources, Scores, Subject, by_units
from winnow_research.evaluation.methods.winnow import LoadDrafter, Winnow

_WEIGHT = 0.5  # of the drafter's scores in the second stage, which are added to log-odds


class TwoStages:
    """The product's scores; the units that lead also get the drafter's scores when it sees question and units together.

    Units stand in the workspace's order, each after its path, in segments of 2,048 tokens. Each segment begins with the
    question, where a file's segment would begin with its path.
    """

    name = "two stages"
    most_tokens: int | None = None

    def __init__(self, drafter: LoadDrafter, tokens: int = 8_000) -> None:
        """At most `tokens` tokens of units lead."""
        self._drafter, self._tokens = drafter, tokens

    def ranker(self, subject: Subject) -> Ranker:
        """See `Method`."""
        first = Winnow(self._drafter).ranker(subject)

        def rank(question: Question) -> Ranking:
            scores = first(question).scores.copy()
            leading = self._leading(subject, scores)
            scores[leading] += _WEIGHT * self._together(subject, question, leading)
            return by_units(subject, question, scores, density(scores, subject.unit_tokens))

        return rank

    def _leading(self, subject: Subject, scores: Scores) -> NDArray[np.int64]:
        """The units that fill the tokens first when the best per token are taken, in the workspace's order."""
        order = np.argsort(-density(scores, subject.unit_tokens), kind="stable")
        return np.sort(order[np.cumsum(subject.unit_tokens[order]) <= self._tokens])

    def _together(self, subject: Subject, question: Question, units: NDArray[np.int64]) -> Scores:
        """The mean of the drafter's standardised scores of some units, float32 [units]."""
        drafter = self._drafter()
        found = (subject.workspace.units[unit] for unit in units)
        texts = tuple(f"{file.path}\n{file.text_of(unit)}" for file, unit in found)
        (keys,) = drafter.encode([FileText(f"Question: {subject.text_of(question)}", texts)], Cancellation())
        offsets = np.cumsum([0, *keys.unit_tokens])
        scored = drafter.score(keys.arrays, offsets, question.text, subject.code_at(question))
        return np.asarray(np.mean([zscore(scores) for scores in scored.values()], axis=0), np.float32)


def methods(resources: Resources) -> Iterable[Method]:
    """two stages."""
    return (TwoStages(resources.drafter),)
