"""The first sentence of a function's documentation → the function. The workspace lacks the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from winnow_engine.question import Question
from winnow_research.evaluation.cases import Case, Scene, without_lines
from winnow_research.evaluation.comments import Described, described
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import Haystack
from winnow_research.evaluation.tasks.base import EvaluationTask


def scenes(corpus: Corpus, tokens: int) -> Iterator[Scene]:
    """A scene for each repository."""
    for haystack in corpus.haystacks(tokens):
        chosen = choose(corpus, haystack, corpus.questions)
        scene = haystack.scene(case("describe", one.sentence, [one]) for one in chosen)
        yield without_lines(scene, documentation_of(chosen))


def choose(corpus: Corpus, haystack: Haystack, most: int) -> list[Described]:
    """At most `most` described functions of the haystack's own repository, at random, without near-duplicates."""
    candidates = list(described(haystack))
    corpus.rng(haystack.repository, "describe").shuffle(candidates)
    chosen: list[Described] = []
    for candidate in candidates:
        if len(chosen) < most and not haystack.has_near_duplicate(candidate.place):
            chosen.append(candidate)
    return chosen


def case(task: str, text: str, wanted: Sequence[Described]) -> Case:
    """A question whose golds are the functions in `wanted`."""
    place = wanted[0].place
    golds = tuple(one.place.gold for one in wanted)
    return Case(task, place.file.path.split("/", 1)[0], place.language, Question(text), golds)


def documentation_of(chosen: Sequence[Described]) -> dict[str, set[int]]:
    """The lines of the documentation of some functions, by path."""
    lines: dict[str, set[int]] = {}
    for one in chosen:
        lines.setdefault(one.place.file.path, set()).update(one.lines)
    return lines


TASK = EvaluationTask("describe", scenes)
