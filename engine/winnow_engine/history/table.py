"""What is known of a repository's commits, as arrays that can be mapped: who, when, and which terms.

Commits have numbers, each a higher one than its parents. One table may continue another: it has the numbers after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.git.log import Logged
from winnow_engine.history.definitions import ChangedNames
from winnow_engine.history.terms import Gathering, Int64, joined, words, words_of_names
from winnow_engine.index.postings import Postings

Array = NDArray[Any]

FIELDS = ("message", "author")
"""What a commit says; known of all."""
TOUCHED = ("paths", "names", "added", "removed")
"""What it touched; known of those that are `read`."""
_MOST_CHARACTERS = 8_000  # of a message
_MOST_PATHS = 300  # of a commit
_UNKNOWN = -1  # the number of a parent that is not in the table


@dataclass(frozen=True)
class Touched:
    """What a commit touched: paths from the repository's top, and names of units."""

    paths: tuple[str, ...] = ()
    names: ChangedNames = field(default_factory=ChangedNames)


@dataclass(frozen=True)
class HistoryTable:
    """`arrays` by name:

    - `ids`, uint8 [N, 20 or 32]; `times`, int64 [N], in seconds since the epoch; `parents`, int64, with the number at
      which those of each commit end, `parent_ends`, int64 [N];
    - `read`, uint8 [N]: whether it is known what a commit touched;
    - postings of FIELDS and TOUCHED, whose places begin at 0 in each table, and `lengths.FIELD`, int32 [N].

    `first` is the number of the first commit.
    """

    first: int
    arrays: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.arrays["times"])

    @cached_property
    def ids(self) -> list[str]:
        """The commits' object ids."""
        ids = self.arrays["ids"]
        text, width = ids.tobytes().hex(), 2 * ids.shape[1]
        return [text[at : at + width] for at in range(0, len(text), width)]

    @property
    def parents(self) -> list[list[int]]:
        """The numbers of each commit's parents that are known."""
        numbers, ends = self.arrays["parents"].tolist(), self.arrays["parent_ends"].tolist()
        return [numbers[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    def number_of(self, commit: str) -> int | None:
        """The number of a commit; None if it is not in the table."""
        found = np.flatnonzero((self.arrays["ids"] == np.frombuffer(bytes.fromhex(commit), np.uint8)).all(axis=1))
        return self.first + int(found[0]) if len(found) else None

    def id_of(self, number: int) -> str:
        """The object id of a commit."""
        return str(self.arrays["ids"][number - self.first].tobytes().hex())

    def postings(self, name: str) -> Postings:
        """The postings of a field."""
        return Postings.of_arrays(name, self.arrays)

    def with_touched(self, rows: Int64, touched: Sequence[Touched]) -> HistoryTable:
        """The table with what some commits touched; `rows`, int64, count from its first commit."""
        arrays = dict(self.arrays)
        for name, found in zip(TOUCHED, _terms(touched), strict=True):
            new = Gathering()
            new.add(rows, found)
            arrays |= joined([(self.postings(name), 0), (new.postings(len(self)), 0)], len(self)).arrays(name)
            arrays[f"lengths.{name}"] = arrays[f"lengths.{name}"] + new.lengths(len(self))
        read = arrays["read"].copy()
        read[rows] = 1
        return HistoryTable(self.first, arrays | {"read": read})


class Building:
    """A table that continues others, made of commits, some at a time and in order."""

    def __init__(self, first: int, numbers: Mapping[str, int], lineages: Sequence[tuple[str, Sequence[str]]]) -> None:
        """`numbers` are those of commits in the other tables; `lineages` are all that will be added, with parents."""
        self._first, self._known = first, numbers
        self._lineages = lineages
        self._gathered = {name: Gathering() for name in FIELDS}
        self._times: list[int] = []

    def add(self, commits: Sequence[Logged]) -> None:
        """Take the next commits."""
        places = np.arange(len(self._times), len(self._times) + len(commits), dtype=np.int64)
        texts: dict[str, list[list[str]]] = {
            "message": [words(commit.message[:_MOST_CHARACTERS]) for commit in commits],
            "author": [words(commit.author) for commit in commits],
        }
        for name, found in texts.items():
            self._gathered[name].add(places, found)
        self._times += [commit.committed_at for commit in commits]

    def table(self) -> HistoryTable:
        """The table, once all commits have been added. Of none it is known what it touched."""
        count = len(self._times)
        assert count == len(self._lineages), (count, len(self._lineages))
        arrays: dict[str, Array] = {
            "ids": _hashes([name for name, _ in self._lineages]),
            "times": np.array(self._times, np.int64),
            "read": np.zeros(count, np.uint8),
            **self._parents(),
        }
        for name in (*FIELDS, *TOUCHED):
            gathered = self._gathered.get(name, Gathering())
            arrays |= gathered.postings(count).arrays(name)
            arrays[f"lengths.{name}"] = gathered.lengths(count)
        return HistoryTable(self._first, arrays)

    def _parents(self) -> dict[str, Array]:
        numbers = {name: self._first + at for at, (name, _) in enumerate(self._lineages)}
        found = [
            [number for parent in parents if (number := numbers.get(parent, self._known.get(parent, _UNKNOWN))) >= 0]
            for _, parents in self._lineages
        ]
        flat = [number for numbers_of_one in found for number in numbers_of_one]
        return {
            "parents": np.array(flat, np.int64),
            "parent_ends": np.cumsum([len(one) for one in found], dtype=np.int64),
        }


def continued(parts: Sequence[HistoryTable]) -> HistoryTable:
    """One table of several, each of which continues those before it."""
    if len(parts) == 1:
        return parts[0]
    count = sum(map(len, parts))
    arrays = {name: np.concatenate([part.arrays[name] for part in parts]) for name in _plain(parts[0])}
    ends = [part.arrays["parent_ends"] for part in parts]
    begins = np.cumsum([0, *(len(part.arrays["parents"]) for part in parts[:-1])])
    arrays["parent_ends"] = np.concatenate([some + begin for some, begin in zip(ends, begins, strict=True)])
    for name in (*FIELDS, *TOUCHED):
        moved = [(part.postings(name), part.first - parts[0].first) for part in parts]
        arrays |= joined(moved, count).arrays(name)
    return HistoryTable(parts[0].first, arrays)


def _plain(part: HistoryTable) -> list[str]:
    """The arrays that have a row for each commit, and the parents."""
    return ["ids", "times", "read", "parents", *(f"lengths.{name}" for name in (*FIELDS, *TOUCHED))]


def _terms(touched: Iterable[Touched]) -> list[list[list[str]]]:
    """The terms of each commit, for each of TOUCHED."""
    listed = list(touched)
    return [
        [words("\n".join(one.paths[:_MOST_PATHS])) for one in listed],
        [words_of_names(one.names.touched) for one in listed],
        [words_of_names(one.names.added) for one in listed],
        [words_of_names(one.names.removed) for one in listed],
    ]


def _hashes(ids: Sequence[str]) -> Array:
    width = len(ids[0]) // 2 if ids else 20
    return np.frombuffer(bytes.fromhex("".join(ids)), np.uint8).reshape(-1, width)
