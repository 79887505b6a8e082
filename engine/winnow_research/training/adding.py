"""Adds questions to a data set that is there already, and joins data sets to which different ones were added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.encoder.template import Template
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.errors import TrainingError
from winnow_research.training.dataset import Dataset, Rows, rows

_OF_FILES = ("project_of", "file_units", "twins")


@dataclass(frozen=True, slots=True)
class NewQuestion:
    """A question, the units that answer it, and the number of their language in the data set."""

    text: str
    golds: tuple[int, ...]
    language: int


def paths_of(data: Dataset, vocabulary: Vocabulary) -> list[str]:
    """Each file's path, as its header shows it, without the words that mark it where no token does."""
    headers = (vocabulary.text(data.headers[file].tolist()) for file in range(len(data.headers)))
    return [header.strip().removeprefix("# file: ") for header in headers]


def with_questions(data: Dataset, template: Template, kind: str, new: Sequence[NewQuestion]) -> Dataset:
    """The data set with these questions of a new kind after its own."""
    count = len(new)
    return replace(
        data,
        kinds=(*data.kinds, kind),
        kind_of=np.concatenate([data.kind_of, np.full(count, len(data.kinds), np.int32)]),
        language_of=np.concatenate([data.language_of, np.array([one.language for one in new], np.int32)]),
        questions=_longer(data.questions, (template.question(one.text).ids for one in new)),
        golds=_longer(data.golds, (one.golds for one in new)),
        asked_at=np.concatenate([data.asked_at, np.full(count, -1, np.int64)]),
        quotes=np.concatenate([data.quotes, np.zeros(count, np.bool_)]),
    )


def questions_alone(data: Dataset, kind: str) -> Dataset:
    """The questions of one kind without the files' text, which takes nearly all of the room, for `join`."""
    taken = np.flatnonzero(data.kind_of == data.kinds.index(kind))
    nothing = rows((), np.int32)
    return replace(
        data,
        kinds=(kind,),
        headers=nothing,
        units=nothing,
        bare=nothing,
        kind_of=np.zeros(len(taken), np.int32),
        language_of=data.language_of[taken],
        questions=rows((data.questions[n] for n in taken.tolist()), np.int32),
        golds=rows((data.golds[n] for n in taken.tolist()), np.int64),
        asked_at=data.asked_at[taken],
        quotes=data.quotes[taken],
    )


def join(first: Dataset, others: Sequence[Dataset]) -> Dataset:
    """The first data set, with the questions of kinds that only others made of it have.

    Raises TrainingError for questions about other files, and unless the first has files.
    """
    first.require_files()
    for other in others:
        if not _of_one_base(first, other):
            raise TrainingError("questions can be joined only with the data set that they were made of")
        first = _with_kinds(first, other)
    return first


def _chained(parts: Sequence[Rows]) -> Rows:
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return Rows(np.concatenate([part.values for part in parts]), np.cumsum([0, *lengths], dtype=np.int64))


def _of_one_base(first: Dataset, other: Dataset) -> bool:
    alike = all(np.array_equal(getattr(first, name), getattr(other, name)) for name in _OF_FILES)
    return alike and (first.projects, first.languages) == (other.projects, other.languages)


def _with_kinds(first: Dataset, other: Dataset) -> Dataset:
    kinds = [kind for kind in other.kinds if kind not in first.kinds]
    number = {other.kinds.index(kind): len(first.kinds) + n for n, kind in enumerate(kinds)}
    taken = np.flatnonzero(np.isin(other.kind_of, list(number)))
    new = [number[kind] for kind in other.kind_of[taken].tolist()]
    return replace(
        first,
        kinds=(*first.kinds, *kinds),
        kind_of=np.concatenate([first.kind_of, np.array(new, np.int32)]),
        language_of=np.concatenate([first.language_of, other.language_of[taken]]),
        questions=_longer(first.questions, (other.questions[n] for n in taken.tolist())),
        golds=_longer(first.golds, (other.golds[n] for n in taken.tolist())),
        asked_at=np.concatenate([first.asked_at, other.asked_at[taken]]),
        quotes=np.concatenate([first.quotes, other.quotes[taken]]),
    )


def _longer(first: Rows, more: Iterable[Sequence[int] | NDArray[Any]]) -> Rows:
    return _chained([first, rows(more, first.values.dtype.type)])
