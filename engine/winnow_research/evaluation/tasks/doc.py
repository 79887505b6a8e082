"""A sentence of the README or the documentation → the section it was taken from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from winnow_engine.question import Question
from winnow_research.evaluation.cases import Case, Scene, without_lines
from winnow_research.evaluation.comments import without_markup
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import Haystack, Place
from winnow_research.evaluation.tasks.base import EvaluationTask

_SUFFIXES = (".md", ".rst")
_CHANGES = re.compile(r"change|release|history|news|licen[cs]e|security|conduct|contribut", re.IGNORECASE)
_PROSE = re.compile(r"(?!```)[A-Z`][^|]*[a-z]")
_WORDS = range(8, 41)
_REST = 200  # bytes of the section that must remain


@dataclass(frozen=True)
class _Excerpt:
    place: Place
    sentence: str
    lines: frozenset[int]


def scenes(corpus: Corpus, tokens: int) -> Iterator[Scene]:
    """A scene for each repository that has documentation."""
    for haystack in corpus.haystacks(tokens):
        asked = list(_asked(haystack))
        corpus.rng(haystack.repository, "doc").shuffle(asked)
        asked = asked[: corpus.questions]
        lines: dict[str, set[int]] = {}
        for one in asked:
            lines.setdefault(one.place.file.path, set()).update(one.lines)
        if asked:
            yield without_lines(haystack.scene(map(_case, asked)), lines)


def _case(asked: _Excerpt) -> Case:
    path = asked.place.file.path
    question = Question(f"Where does the documentation say this: {without_markup(asked.sentence)}")
    return Case("doc", path.split("/", 1)[0], asked.place.language, question, (asked.place.gold,))


def _asked(haystack: Haystack) -> Iterator[_Excerpt]:
    """At most one sentence of each section: the first sentence of its first paragraph of prose."""
    for place in haystack.places:
        path = place.file.path
        named = path.endswith(_SUFFIXES) and not _CHANGES.search(path)
        if named and haystack.owns(place.file) and place.fair_size:
            found = _first_prose(place)
            if found and haystack.occurrences(found.sentence) == 1 and not haystack.has_near_duplicate(place):
                yield found


def _first_prose(place: Place) -> _Excerpt | None:
    lines = place.text.splitlines()
    for first, line in enumerate(lines):
        if _PROSE.match(line) and first and not lines[first - 1].strip():
            paragraph = lines[first : next((n for n in range(first, len(lines)) if not lines[n].strip()), len(lines))]
            sentence = re.split(r"(?<=[.!?])\s", " ".join(paragraph))[0]
            numbers = frozenset(range(place.unit.start_line + first, place.unit.start_line + first + len(paragraph)))
            rest = len(place.text.encode()) - len("\n".join(paragraph).encode())
            fair = len(without_markup(sentence).split()) in _WORDS and rest >= _REST and not sentence.endswith(":")
            return _Excerpt(place, sentence, numbers) if fair else None
    return None


TASK = EvaluationTask("doc", scenes)
