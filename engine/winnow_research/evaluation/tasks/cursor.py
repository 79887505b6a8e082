"""Explain the code at the cursor → the definitions in other files that it uses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from winnow_engine.core import UnitKind
from winnow_engine.question import Cursor, Question
from winnow_research.evaluation.cases import Case, Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import Haystack, Place
from winnow_research.evaluation.tasks.base import EvaluationTask

_TEXT = "Explain this code."
_MOST_GOLDS = 5
_DEFINED = (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER)


def scenes(corpus: Corpus, tokens: int) -> Iterator[Scene]:
    """A scene for each repository."""
    for haystack in corpus.haystacks(tokens):
        cases = list(_cases(haystack))
        corpus.rng(haystack.repository, "cursor").shuffle(cases)
        yield haystack.scene(cases[: corpus.questions])


def _cases(haystack: Haystack) -> Iterator[Case]:
    names: dict[Place, list[str]] = {}
    for file in haystack.own_files:
        for name, number in file.analysis.symbols.references:
            place = Place(file, number)
            if place.is_function:
                names.setdefault(place, []).append(name)
    for place, used in names.items():
        golds = {found.gold: None for name in used if (found := elsewhere(haystack, place, name))}
        if 1 <= len(golds) <= _MOST_GOLDS:
            cursor = Cursor(place.file.path, place.unit.start_line, place.unit.end_line)
            question = Question(_TEXT, cursor)
            yield Case("cursor", haystack.repository.name, place.language, question, tuple(golds))


def elsewhere(haystack: Haystack, place: Place, name: str) -> Place | None:
    """The only unit that defines `name`, if it is in another file of the same repository and language, else None."""
    found = haystack.definitions.get(name, [])
    if len(found) != 1 or not is_distinctive(name):
        return None
    (definition,) = found
    apart = definition.file.path != place.file.path and definition.language == place.language
    fair = definition.unit.kind in _DEFINED and definition.fair_size and haystack.owns(definition.file)
    return definition if apart and fair else None


def is_distinctive(name: str) -> bool:
    """Whether a name can hardly mean anything but its definition: `read_header` is distinctive, `read` is not."""
    return len(name) >= 6 and re.search(r"[A-Za-z]_[A-Za-z]|[a-z][A-Z]|^[A-Z]\w*[a-z]", name) is not None


TASK = EvaluationTask("cursor", scenes)
