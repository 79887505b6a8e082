"""A function, by name or under the cursor → the units that use it."""

from __future__ import annotations

from winnow_engine.core import UnitKind
from winnow_engine.question import CodeAtCursor
from winnow_research.evaluation.haystack import Place
from winnow_research.evaluation.tasks.cursor import is_distinctive
from winnow_research.training.examples.base import Example, ProjectTree, fair

_BY_NAME = (
    "Where is `{name}` used?",
    "Where is {name} called from?",
    "Which code calls {name}?",
    "What breaks if I change {name}?",
    "Who uses {name}?",
    "I want to rename {name}. What else has to change?",
    "When is {name} called?",
)
_AT_CURSOR = (
    "How is `{name}` used? Name the places that use it, and what for.",
    "What would break if `{name}` changed? Name the code that relies on it, and how.",
    "Who calls this?",
    "Where is this used?",
)
_MOST_GOLDS = 6
_NO_USE = (UnitKind.IMPORTS, UnitKind.SECTION, UnitKind.BLOCK)


def examples(tree: ProjectTree) -> list[Example]:
    """A question for each function that a few units use. A third of them are asked from the function itself."""
    rng = tree.rng("usage")
    found = []
    for name, place in _defined(tree):
        users = _users(tree, name, place)
        if not 1 <= len(users) <= _MOST_GOLDS:
            continue
        if rng.random() < 1 / 3:
            code = CodeAtCursor(place.text, place.language)
            text = rng.choice(_AT_CURSOR).format(name=name)
            found.append(Example("usage", text, users, at=place, code=code))
        else:
            found.append(Example("usage", rng.choice(_BY_NAME).format(name=name), users))
    return found


def _defined(tree: ProjectTree) -> list[tuple[str, Place]]:
    return [
        (name, places[0])
        for name, places in sorted(tree.haystack.definitions.items())
        if len(places) == 1 and is_distinctive(name) and places[0].is_code
    ]


def _users(tree: ProjectTree, name: str, place: Place) -> tuple[Place, ...]:
    users = tree.haystack.users.get(name, [])
    return tuple(
        user
        for user in users
        if user.unit.kind not in _NO_USE and user != place and user.language == place.language and fair(user)
    )
