"""What a source of examples gets, and what it returns."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.question import CodeAtCursor
from winnow_research.evaluation.cases import Case
from winnow_research.evaluation.comments import Described, documentation, without_markup
from winnow_research.evaluation.haystack import Haystack, Place

_LEAST_BODY_LINES = 3
_SIZES = range(80, 8000)  # bytes of a unit worth asking for


@dataclass(frozen=True)
class Example:
    """A question and the units that answer it.

    `quoted` has the units whose words the question uses, with the lines that hold those words; these lines are not
    shown when the question is asked. `at` is the unit from which the question is asked, which is no answer; `code` is
    the code at the cursor.
    """

    kind: str
    text: str
    golds: tuple[Place, ...]
    at: Place | None = None
    code: CodeAtCursor | None = None
    quoted: frozenset[tuple[Place, frozenset[int]]] = frozenset()


@dataclass(frozen=True)
class ProjectTree:
    """One project's files, and random generators that depend on project, seed and purpose."""

    haystack: Haystack
    seed: int = 0
    needles: tuple[tuple[str, str, int], ...] = ()
    """(question, path, line) of the needles hidden in the files."""
    cases: tuple[Case, ...] = ()
    """Questions that people wrote about the project, with golds."""

    @property
    def project(self) -> str:
        """The project's name."""
        return self.haystack.repository.name

    def rng(self, purpose: str) -> random.Random:
        """A random generator for a purpose."""
        return random.Random(f"{self.seed}/{self.project}/{purpose}")

    @cached_property
    def functions(self) -> list[Place]:
        """Functions and methods outside tests that are neither tiny nor huge."""
        return [place for place in self._places(self.haystack.own_files) if place.is_code and fair(place)]

    @cached_property
    def described(self) -> list[Described]:
        """Documented functions. `sentence` is the whole documentation, without its markup."""
        return [one for file in self.haystack.own_files for one in _described(file)]

    def _places(self, files: Iterable[IndexedFile]) -> Iterator[Place]:
        return (Place(file, number) for file in files for number in range(len(file.units)))


def fair(place: Place) -> bool:
    """Whether a unit has a size worth asking for."""
    return place.unit.end_byte - place.unit.start_byte in _SIZES


def _described(file: IndexedFile) -> Iterator[Described]:
    for number, text, lines in documentation(file):
        place = Place(file, number)
        rest = place.unit.end_line - place.unit.start_line + 1 - len(lines)
        if place.is_code and fair(place) and rest >= _LEAST_BODY_LINES:
            yield Described(place, without_markup(text), lines)
