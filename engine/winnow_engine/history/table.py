"""What is known of a repository's commits, as arrays that can be mapped: who, when, and which terms.

Commits have numbers, each a higher one than its parents. One table may continue another: it has the numbers after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.git.log import Logged
from winnow_engine.history.definitions import ChangedNames
from winnow_engine.history.terms import Gathering, Int64, joined, words, words_of_names
from winnow_engine.index.postings import Postings

Array = NDArray[Any]

FIELDS = ("message", "author", "paths")
NAMES = ("names", "added", "removed")
_MOST_CHARACTERS = 8_000  # of a message
_MOST_PATHS = 300  # of a commit
_UNKNOWN = -1  # the number of a parent that is not in the table


@dataclass(frozen=True)
class HistoryTable:
    """`arrays` by name:

    - `ids`, uint8 [N, 20 or 32]; `times`, int64 [N], in seconds since the epoch; `paths`, int32 [N], how many a commit
      touched; `parents`, int64, with the number at which those of each commit end, `parent_ends`, int64 [N];
    - `named`, uint8 [N]: whether the names that a commit changed are known;
    - postings of FIELDS and NAMES, whose places begin at 0 in each table, and `lengths.FIELD`, int32 [N].

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

    def postings(self, name: str) -> Postings:
        """The postings of a field."""
        return Postings.of_arrays(name, self.arrays)

    def with_names(self, rows: Int64, names: Sequence[ChangedNames]) -> HistoryTable:
        """The table with the names that some commits changed; `rows`, int64, count from its first commit."""
        arrays = dict(self.arrays)
        for field, found in zip(NAMES, _of_names(names), strict=True):
            new = Gathering()
            new.add(rows, found)
            arrays |= joined([(self.postings(field), 0), (new.postings(len(self)), 0)], len(self)).arrays(field)
            arrays[f"lengths.{field}"] = arrays[f"lengths.{field}"] + new.lengths(len(self))
        named = arrays["named"].copy()
        named[rows] = 1
        return HistoryTable(self.first, arrays | {"named": named})


class Building:
    """A table that continues others, made of commits, some at a time and in order."""

    def __init__(self, first: int, numbers: Mapping[str, int], lineages: Sequence[tuple[str, Sequence[str]]]) -> None:
        """`numbers` are those of commits in the other tables; `lineages` are all that will be added, with parents."""
        self._first, self._known = first, numbers
        self._lineages = lineages
        self._gathered = {field: Gathering() for field in FIELDS}
        self._times: list[int] = []
        self._paths: list[int] = []

    def add(self, commits: Sequence[Logged]) -> None:
        """Take the next commits."""
        places = np.arange(len(self._times), len(self._times) + len(commits), dtype=np.int64)
        texts: dict[str, list[list[str]]] = {
            "message": [words(commit.message[:_MOST_CHARACTERS]) for commit in commits],
            "author": [words(commit.author) for commit in commits],
            "paths": [words("\n".join(commit.paths[:_MOST_PATHS])) for commit in commits],
        }
        for field, found in texts.items():
            self._gathered[field].add(places, found)
        self._times += [commit.committed_at for commit in commits]
        self._paths += [len(commit.paths) for commit in commits]

    def table(self) -> HistoryTable:
        """The table, once all commits have been added. No names are known."""
        count = len(self._times)
        assert count == len(self._lineages), (count, len(self._lineages))
        arrays: dict[str, Array] = {
            "ids": _hashes([name for name, _ in self._lineages]),
            "times": np.array(self._times, np.int64),
            "paths": np.array(self._paths, np.int32),
            "named": np.zeros(count, np.uint8),
            **self._parents(),
        }
        for field in (*FIELDS, *NAMES):
            gathered = self._gathered.get(field, Gathering())
            arrays |= gathered.postings(count).arrays(field)
            arrays[f"lengths.{field}"] = gathered.lengths(count)
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
    for field in (*FIELDS, *NAMES):
        moved = [(part.postings(field), part.first - parts[0].first) for part in parts]
        arrays |= joined(moved, count).arrays(field)
    return HistoryTable(parts[0].first, arrays)


def _plain(part: HistoryTable) -> list[str]:
    """The arrays that have a row for each commit, and the parents."""
    return ["ids", "times", "paths", "named", "parents", *(f"lengths.{field}" for field in (*FIELDS, *NAMES))]


def _of_names(names: Iterable[ChangedNames]) -> list[list[list[str]]]:
    """The terms of each commit, for each of NAMES."""
    listed = list(names)
    return [
        [words_of_names(one.touched) for one in listed],
        [words_of_names(one.added) for one in listed],
        [words_of_names(one.removed) for one in listed],
    ]


def _hashes(ids: Sequence[str]) -> Array:
    width = len(ids[0]) // 2 if ids else 20
    return np.frombuffer(bytes.fromhex("".join(ids)), np.uint8).reshape(-1, width)
