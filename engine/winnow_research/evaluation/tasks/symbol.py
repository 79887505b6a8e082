"""A bare identifier → its definition, among its users, overloads and test doubles."""

from __future__ import annotations

from collections.abc import Iterator

from winnow_engine.core import UnitKind
from winnow_engine.question import Question
from winnow_research.evaluation.cases import Case, Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import Haystack, Place, is_test
from winnow_research.evaluation.tasks.base import EvaluationTask

_TEXTS = ("{name}", "{name}", "`{name}`", "{qualified}")
_KINDS = (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER)
_MOST_DEFINITIONS, _SHORTEST = 4, 4


def scenes(corpus: Corpus, tokens: int) -> Iterator[Scene]:
    """A scene for each repository."""
    for haystack in corpus.haystacks(tokens):
        rng = corpus.rng(haystack.repository, "symbol")
        asked = [(name, places) for name in sorted(haystack.definitions) if (places := _golds(haystack, name))]
        rng.shuffle(asked)
        yield haystack.scene(
            _case(haystack, name, places, rng.choice(_TEXTS)) for name, places in asked[: corpus.questions]
        )


def _golds(haystack: Haystack, name: str) -> list[Place]:
    """The units of code that define a name which others use; none if it is short, or many things have it."""
    defined = haystack.definitions[name]
    if len(name) < _SHORTEST or name.startswith("__") or len(defined) > _MOST_DEFINITIONS:
        return []
    golds = [one for one in defined if haystack.owns(one.file) and not is_test(one.file) and one.unit.kind in _KINDS]
    return golds if haystack.users.get(name) else []


def _case(haystack: Haystack, name: str, places: list[Place], text: str) -> Case:
    """The question for a name, or for a definition by its class and name, which only that answers."""
    own = places[0].unit.name
    golds = [one for one in places if one.unit.name == own] if "qualified" in text else places
    question = Question(text.format(name=name, qualified=own if own.endswith(f".{name}") else name))
    return Case(
        "symbol", haystack.repository.name, places[0].language, question, tuple(one.gold for one in golds or places)
    )


TASK = EvaluationTask("symbol", scenes)
