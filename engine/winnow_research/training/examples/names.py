"""A name, as it is or in words → its definition."""

from __future__ import annotations

from winnow_engine.core import UnitKind
from winnow_research.evaluation.haystack import Place
from winnow_research.evaluation.tasks.cursor import is_distinctive
from winnow_research.training.examples.base import Example, ProjectTree, fair
from winnow_research.training.wording import split_name

_EXACT = (
    "How does `{name}` work?",
    "How does {name} work?",
    "What does {name} do?",
    "What is {name} for?",
    "Where is `{name}` defined?",
    "Explain {name}.",
    "What does `{name}` return, and when does it fail?",
    "In which cases does {name} do nothing?",
)
_AS_WORDS = (
    "{words}",
    "Where is the code for {words}?",
    "how is {words} handled",
    "How does {project} do {words}?",
    "Which code is about {words}?",
)
_DEFINED = (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER)


def examples(tree: ProjectTree) -> list[Example]:
    """At most one question for two thirds of the names that exactly one unit of the project defines."""
    rng = tree.rng("names")
    found = []
    for name, places in sorted(tree.haystack.definitions.items()):
        if len(places) != 1 or not _askable(places[0], tree) or rng.random() < 1 / 3:
            continue
        words = split_name(name)
        if is_distinctive(name) and rng.random() < 0.5:
            text = rng.choice(_EXACT).format(name=name)
        elif len(words.split()) >= 3:
            text = rng.choice(_AS_WORDS).format(words=words, project=tree.project)
        else:
            continue
        found.append(Example("name", text, (places[0],)))
    return found


def _askable(place: Place, tree: ProjectTree) -> bool:
    return place.unit.kind in _DEFINED and fair(place) and tree.haystack.owns(place.file)
