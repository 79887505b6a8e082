"""Which code uses this function? → The units that do."""

from __future__ import annotations

from collections.abc import Iterator

from winnow_engine.core import UnitKind
from winnow_engine.question import Question
from winnow_research.evaluation.cases import Case, Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import Haystack, Place
from winnow_research.evaluation.tasks.base import EvaluationTask
from winnow_research.evaluation.tasks.cursor import is_distinctive

_TEXTS = ("Where is `{name}` used?", "Which code calls {name}?", "What breaks if I change {name}?", "Who uses {name}?")
_MOST_GOLDS = 4
_NO_USE = (UnitKind.IMPORTS, UnitKind.SECTION, UnitKind.BLOCK)


def scenes(corpus: Corpus, tokens: int) -> Iterator[Scene]:
    """A scene for each repository."""
    for haystack in corpus.haystacks(tokens):
        rng = corpus.rng(haystack.repository, "usage")
        asked = list(_defined(haystack))
        rng.shuffle(asked)
        cases = [
            Case(
                "usage",
                haystack.repository.name,
                place.language,
                Question(rng.choice(_TEXTS).format(name=name)),
                tuple(user.gold for user in users),
            )
            for name, place in asked
            if (users := _users(haystack, name, place))
        ]
        yield haystack.scene(cases[: corpus.questions])


def _defined(haystack: Haystack) -> Iterator[tuple[str, Place]]:
    """The haystack's own functions whose name is distinctive and defined only once."""
    for file in haystack.own_files:
        for name, number in file.analysis.symbols.definitions:
            place = Place(file, number)
            if place.is_function and is_distinctive(name) and len(haystack.definitions[name]) == 1:
                yield name, place


def _users(haystack: Haystack, name: str, place: Place) -> list[Place]:
    """The units that use the name; empty if they are too many or too large to keep, or may mean another thing."""
    users = [user for user in haystack.users.get(name, []) if user.unit.kind not in _NO_USE and user != place]
    fair = len(users) <= _MOST_GOLDS and all(
        user.fair_size and user.language == place.language and haystack.owns(user.file) for user in users
    )
    return users if fair else []


TASK = EvaluationTask("usage", scenes)
