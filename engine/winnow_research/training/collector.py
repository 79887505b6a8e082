"""Turns indexed files and examples into a data set of tokens and numbers."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from winnow_cuda.shapes import Int32
from winnow_engine.encoder.template import Template
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.evaluation.haystack import Place, squeezed
from winnow_research.training.dataset import Dataset, rows
from winnow_research.training.examples.base import Example


@dataclass
class TokenisedProject:
    """The files and examples of one project in tokens. Units are numbered within the project."""

    project: str
    headers: list[Int32] = field(default_factory=list)
    unit_counts: list[int] = field(default_factory=list)
    units: list[Int32] = field(default_factory=list)
    bare: list[Int32] = field(default_factory=list)
    twins: list[int] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    questions: list[Int32] = field(default_factory=list)
    golds: list[list[int]] = field(default_factory=list)
    asked_at: list[int] = field(default_factory=list)
    quotes: list[bool] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)

    def add_question(
        self, kind: str, ids: Int32, golds: list[int], language: str, *, asked_at: int = -1, quotes: bool = False
    ) -> None:
        """Add a question, in tokens, with the numbers of the units that answer it."""
        self.kinds.append(kind)
        self.questions.append(ids)
        self.golds.append(golds)
        self.asked_at.append(asked_at)
        self.quotes.append(quotes)
        self.languages.append(language)


class Collector:
    """Turns projects into tokens, with the product's own template and vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tokens: Callable[[str], Int32] = vocabulary.tokenize
        self._template = Template(vocabulary)
        self.prefix = self._template.prefix

    def part(
        self, project: str, files: Sequence[IndexedFile], examples: Iterable[Example], shown_path: Callable[[str], str]
    ) -> TokenisedProject:
        """A project in tokens. `shown_path(path)` is the path that a file's header shows."""
        examples = list(examples)
        part, numbers = TokenisedProject(project), {}
        hidden = _quoted_lines(examples)
        for file in files:
            part.headers.append(self._template.header(shown_path(file.path)))
            part.unit_counts.append(len(file.units))
            for number in range(len(file.units)):
                place = Place(file, number)
                numbers[key(place)] = len(part.units)
                self._add_unit(part, place, hidden.get(key(place), set()))
        for example in examples:
            self._add_question(part, example, numbers)
        return part

    def _add_unit(self, part: TokenisedProject, place: Place, hidden: set[int]) -> None:
        text = place.text
        part.units.append(self._tokens(text))
        part.bare.append(self._tokens(_without(text, place.unit.start_line, hidden)) if hidden else _NOTHING)
        part.twins.append(twin(squeezed(text)))

    def _add_question(self, part: TokenisedProject, example: Example, numbers: dict[tuple[str, int], int]) -> None:
        encoded = self._template.question(example.text, example.code)
        golds = [numbers[key(gold)] for gold in example.golds]
        at = -1 if example.at is None else numbers[key(example.at)]
        quotes, language = bool(example.quoted), example.golds[0].language
        part.add_question(example.kind, encoded.ids, golds, language, asked_at=at, quotes=quotes)


def twin(shown: str) -> int:
    """What `Dataset.twins` has of a unit: equal for equal texts."""
    return int.from_bytes(hashlib.blake2b(shown.encode("utf-8", "replace"), digest_size=7).digest(), "little")


def key(place: Place) -> tuple[str, int]:
    """Identifies a unit within a project; cheaper than the place itself, whose comparison reads the whole file."""
    return place.file.path, place.number


def joined(parts: Sequence[TokenisedProject], prefix: Int32) -> Dataset:
    """The projects as one data set, in which units are numbered consecutively."""
    kinds = sorted({kind for part in parts for kind in part.kinds})
    languages = sorted({language for part in parts for language in part.languages})
    starts = np.cumsum([0, *(len(part.units) for part in parts)])
    return Dataset(
        kinds=tuple(kinds),
        languages=tuple(languages),
        projects=tuple(part.project for part in parts),
        prefix=prefix,
        project_of=np.repeat(np.arange(len(parts), dtype=np.int32), [len(part.headers) for part in parts]),
        headers=rows((ids for part in parts for ids in part.headers), np.int32),
        file_units=np.cumsum([0, *(n for part in parts for n in part.unit_counts)], dtype=np.int64),
        units=rows((ids for part in parts for ids in part.units), np.int32),
        bare=rows((ids for part in parts for ids in part.bare), np.int32),
        twins=np.array([twin for part in parts for twin in part.twins], np.int64),
        kind_of=np.array([kinds.index(kind) for part in parts for kind in part.kinds], np.int32),
        language_of=np.array([languages.index(one) for part in parts for one in part.languages], np.int32),
        questions=rows((ids for part in parts for ids in part.questions), np.int32),
        golds=rows(
            (np.add(g, start) for part, start in zip(parts, starts, strict=False) for g in part.golds), np.int64
        ),
        asked_at=np.array(
            [-1 if at < 0 else at + start for part, start in zip(parts, starts, strict=False) for at in part.asked_at],
            np.int64,
        ),
        quotes=np.array([quotes for part in parts for quotes in part.quotes], np.bool_),
    )


_NOTHING = np.empty(0, np.int32)


def _quoted_lines(examples: Iterable[Example]) -> dict[tuple[str, int], set[int]]:
    hidden: dict[tuple[str, int], set[int]] = defaultdict(set)
    for example in examples:
        for place, lines in example.quoted:
            hidden[key(place)] |= lines
    return hidden


def _without(text: str, first_line: int, hidden: set[int]) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(line for number, line in enumerate(lines, first_line) if number not in hidden)
