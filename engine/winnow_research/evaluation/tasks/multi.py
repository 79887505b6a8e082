"""Three to five descriptions in one question → all of the functions described."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from winnow_research.evaluation.cases import Scene, without_lines
from winnow_research.evaluation.comments import Described
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.tasks.base import EvaluationTask
from winnow_research.evaluation.tasks.describe import case, choose, documentation_of

_FEWEST, _MOST = 3, 5
_ROUNDS = 4  # how often a function may be asked for, each time with different others


def scenes(corpus: Corpus, tokens: int) -> Iterator[Scene]:
    """A scene for each repository. No two of its questions ask for the same functions."""
    for haystack in corpus.haystacks(tokens):
        rng = corpus.rng(haystack.repository, "multi")
        chosen = choose(corpus, haystack, corpus.questions * _FEWEST)
        rounds = (rng.sample(chosen, len(chosen)) for _ in range(_ROUNDS))
        groups = {frozenset(one.place.gold for one in group): group for one in rounds for group in _groups(one, rng)}
        asked = list(groups.values())[: corpus.questions]
        scene = haystack.scene(case("multi", _question(group), group) for group in asked)
        yield without_lines(scene, documentation_of(chosen))


def _groups(functions: list[Described], rng: Random) -> Iterator[list[Described]]:
    """Groups of three to five of the functions; one or two may be left over."""
    left = functions
    while len(left) >= _FEWEST:
        size = rng.randint(_FEWEST, _MOST)
        yield left[:size]
        left = left[size:]


def _question(group: list[Described]) -> str:
    parts = "; ".join(f"({number}) {one.sentence.rstrip('.')}" for number, one in enumerate(group, 1))
    return f"Which code does each of these: {parts}?"


TASK = EvaluationTask("multi", scenes)
