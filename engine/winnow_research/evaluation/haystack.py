"""A workspace as tasks look at it: its units, which names they define and use, and how unlike they are."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePosixPath

from winnow_engine.core import Span, Unit, UnitKind
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.languages import for_path
from winnow_engine.index.words import words
from winnow_research.evaluation.cases import Case, Gold, Scene
from winnow_research.evaluation.repositories import PinnedRepository, SourceFile

# A gold must fit the smallest budget (500 tokens) and be more than a line or two.
_SMALLEST, _LARGEST = 120, 1500  # bytes
_SAME = 0.8  # share of common words from which two units count as near-duplicates
_CODE = (UnitKind.FUNCTION, UnitKind.METHOD)


@dataclass(frozen=True)
class Place:
    """A unit in its file."""

    file: IndexedFile
    number: int

    def __hash__(self) -> int:
        return hash((self.file.path, self.number))

    @property
    def unit(self) -> Unit:
        """The unit."""
        return self.file.units[self.number]

    @property
    def text(self) -> str:
        """Its text."""
        return self.file.text_of(self.unit)

    @property
    def gold(self) -> Gold:
        """Its lines, as what an answer needs."""
        return Gold(self.file.path, self.unit.start_line, self.unit.end_line)

    def spans_around(self, context: int) -> list[Span]:
        """The unit and its neighbours in the file, about `context` bytes in all."""
        units, first, last = self.file.units, self.number, self.number
        while units[last].end_byte - units[first].start_byte < context and (first, last) != (0, len(units) - 1):
            first, last = max(0, first - 1), min(len(units) - 1, last + 1)
        chosen = units[first : last + 1]
        return [Span(self.file.path, one.start_line, one.end_line, 0, 0.0, one.kind, one.name) for one in chosen]

    @property
    def simple_name(self) -> str:
        """`invoke` for `Context.invoke`."""
        return self.unit.name.rsplit(".", 1)[-1]

    @property
    def language(self) -> str:
        """The name of the file's language; `text` where no grammar is known."""
        language = for_path(self.file.path)
        return language.name if language else "text"

    @property
    def is_function(self) -> bool:
        """Whether it is a function or method whose size makes a fair gold."""
        return self.is_code and self.fair_size

    @property
    def is_code(self) -> bool:
        """Whether it is a function or method."""
        return self.unit.kind in _CODE

    @property
    def fair_size(self) -> bool:
        """Whether it fits the smallest budget and has a body."""
        return _SMALLEST <= self.unit.end_byte - self.unit.start_byte <= _LARGEST


@dataclass(frozen=True)
class Haystack:
    """A workspace about `repository`, which files of other repositories may fill up."""

    repository: PinnedRepository
    files: tuple[IndexedFile, ...]

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """The bare files."""
        return tuple(SourceFile(file.path, file.data) for file in self.files)

    def scene(self, cases: Iterable[Case]) -> Scene:
        """The workspace with its questions."""
        return Scene(self.repository.name, self.sources, tuple(cases))

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Every unit, in file order."""
        return tuple(Place(file, number) for file in self.files for number in range(len(file.units)))

    @property
    def own_files(self) -> Iterator[IndexedFile]:
        """The files of `repository` that are not tests: what questions are about."""
        return (file for file in self.files if self.owns(file) and not is_test(file))

    def owns(self, file: IndexedFile) -> bool:
        """Whether a file belongs to `repository`, and does not only fill the workspace up."""
        return file.path.startswith(f"{self.repository.name}/")

    @cached_property
    def definitions(self) -> dict[str, list[Place]]:
        """The units that define a name, by name."""
        return _by_name((file, file.analysis.symbols.definitions) for file in self.files)

    @cached_property
    def users(self) -> dict[str, list[Place]]:
        """The units that use a name they do not define, by name."""
        return _by_name((file, file.analysis.symbols.references) for file in self.files)

    def occurrences(self, text: str) -> int:
        """How often a text occurs in the workspace, regardless of white space, case and punctuation."""
        wanted = squeezed(text)
        return sum(file.count(wanted) for file in self._squeezed)

    def has_near_duplicate(self, place: Place) -> bool:
        """Whether another unit has nearly the same words, so that either would answer."""
        own = frozenset(words(place.text))
        others = (found for other, found in zip(self.places, self._words, strict=True) if other != place)
        return any(len(own & found) >= _SAME * len(own | found) for found in others)

    @cached_property
    def _squeezed(self) -> tuple[str, ...]:
        return tuple(squeezed(file.text(0, len(file.data))) for file in self.files)

    @cached_property
    def _words(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(words(place.text)) for place in self.places)


def _by_name(symbols: Iterable[tuple[IndexedFile, Iterable[tuple[str, int]]]]) -> dict[str, list[Place]]:
    """Units by name, from each file's (name, number of the unit); no units for other names."""
    found = defaultdict(list)
    for file, pairs in symbols:
        for name, number in pairs:
            found[name].append(Place(file, number))
    return found


def squeezed(text: str) -> str:
    """Only the letters and digits of a text, in lower case."""
    return re.sub(r"[\W_]+", "", text.lower())


def indexed(files: Iterable[SourceFile]) -> tuple[IndexedFile, ...]:
    """The files with their units and symbols."""
    return tuple(_indexed(file.path, file.data) for file in files)


@lru_cache(maxsize=20_000)
def _indexed(path: str, data: bytes) -> IndexedFile:
    return IndexedFile.of(path, path, data)


def is_test(file: IndexedFile) -> bool:
    """Whether a file of a haystack is a test, a benchmark or an example, by its path within the repository."""
    return is_test_path(file.path.partition("/")[2])


def is_test_path(path: str) -> bool:
    """Like `is_test`, for a path within a repository."""
    return any(
        re.search(r"(^|[._-])(tests?|specs?|testing|bench(marks?)?|examples?)([._-]|$)", part)
        for part in PurePosixPath(path).parts
    )
