"""Occurrences of terms, as arrays that can be mapped: sorted terms, each with the numbers of its places."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Int64 = NDArray[np.int64]

NO_PLACE = -1


class Strings:
    """Strings as their UTF-8, uint8, with the byte at which each ends, int64 [N]."""

    def __init__(self, text: Array, ends: Array) -> None:
        self.text, self.ends = text, ends
        self._view = np.ascontiguousarray(text).data

    @classmethod
    def of(cls, strings: Iterable[str]) -> Strings:
        """These strings, in order."""
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        ends = np.cumsum([len(one) for one in encoded], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)

    def __len__(self) -> int:
        return len(self.ends)

    def encoded(self, number: int) -> bytes:
        """A string's UTF-8."""
        start = int(self.ends[number - 1]) if number else 0
        return bytes(self._view[start : int(self.ends[number])])

    def __getitem__(self, number: int) -> str:
        return self.encoded(number).decode("utf-8", "surrogatepass")

    @cached_property
    def all(self) -> list[str]:
        """Every string, in order."""
        raw, ends = bytes(self._view), self.ends.tolist()
        return [
            raw[start:end].decode("utf-8", "surrogatepass") for start, end in zip([0, *ends[:-1]], ends, strict=False)
        ]

    def find(self, string: str) -> int | None:
        """The number of a string, if all are sorted by code points."""
        wanted = string.encode("utf-8", "surrogatepass")
        at = bisect_left(range(len(self)), wanted, key=self.encoded)
        return at if at < len(self) and self.encoded(at) == wanted else None


@dataclass(frozen=True)
class Occurrences:
    """Rows that make postings: term terms[rows[i, 0]] is at place rows[i, 1] rows[i, 2] times."""

    terms: Sequence[str]
    rows: Array


@dataclass(frozen=True)
class Postings:
    """Places of sorted terms.

    Those of term t are places[ends[t-1]:ends[t]], int32 and in order, each with its `counts`, int32. `at` has the terms
    of each place in order, int32: those of place p are at[at_ends[p-1]:at_ends[p]].
    """

    terms: Strings
    ends: Array
    places: Array
    counts: Array
    at: Array
    at_ends: Array

    def of(self, term: str) -> tuple[Array, Array]:
        """The places of a term, with its counts there."""
        number = self.terms.find(term)
        if number is None:
            return self.places[:0], self.counts[:0]
        rows = slice(int(self.ends[number - 1]) if number else 0, int(self.ends[number]))
        return self.places[rows], self.counts[rows]

    def at_place(self, place: int) -> list[str]:
        """The terms at a place, in order."""
        start = int(self.at_ends[place - 1]) if place else 0
        return [self.terms[number] for number in self.at[start : int(self.at_ends[place])].tolist()]

    def occurrences(self, numbers: Int64) -> Occurrences:
        """The same with other numbers for the places, int64; those numbered NO_PLACE are left out."""
        lengths = np.diff(self.ends, prepend=0)
        places = numbers[self.places]
        rows = np.stack([np.repeat(np.arange(len(lengths)), lengths), places, self.counts], axis=1)
        return Occurrences(self.terms.all, rows[places != NO_PLACE])

    def arrays(self, name: str) -> dict[str, Array]:
        """All of it by names that begin with `name`."""
        return {
            f"{name}.text": self.terms.text,
            f"{name}.text_ends": self.terms.ends,
            f"{name}.ends": self.ends,
            f"{name}.places": self.places,
            f"{name}.counts": self.counts,
            f"{name}.at": self.at,
            f"{name}.at_ends": self.at_ends,
        }

    @classmethod
    def of_arrays(cls, name: str, arrays: Mapping[str, Array]) -> Postings:
        """The inverse of `arrays`."""
        terms = Strings(arrays[f"{name}.text"], arrays[f"{name}.text_ends"])
        return cls(terms, *(arrays[f"{name}.{one}"] for one in ("ends", "places", "counts", "at", "at_ends")))

    @classmethod
    def built(cls, found: Iterable[Occurrences], places: int, *, by_place: bool = True) -> Postings:
        """Postings of places 0 to `places`, of terms that occur; without `at` unless `by_place`."""
        numbers: dict[str, int] = {}
        rows = []
        for some in found:
            known = np.fromiter((numbers.setdefault(term, len(numbers)) for term in some.terms), np.int64)
            rows.append(np.column_stack([known[some.rows[:, 0]], some.rows[:, 1:]]))
        joined = np.concatenate([np.empty((0, 3), np.int64), *rows])
        used = np.bincount(joined[:, 0], minlength=len(numbers))
        ordered = sorted(term for term, number in numbers.items() if used[number])
        rank = np.empty(len(numbers), np.int64)
        rank[[numbers[term] for term in ordered]] = np.arange(len(ordered))
        term, place = rank[joined[:, 0]], joined[:, 1]
        order = np.lexsort((place, term))
        at = np.lexsort((term, place)) if by_place else order[:0]
        return cls(
            Strings.of(ordered),
            np.cumsum(np.bincount(term, minlength=len(ordered)), dtype=np.int64),
            place[order].astype(np.int32),
            joined[order, 2].astype(np.int32),
            term[at].astype(np.int32),
            np.cumsum(np.bincount(place[at], minlength=places), dtype=np.int64),
        )


class Places:
    """Occurrences of terms in a workspace: postings of several tables, whose places the workspace numbers anew.

    `parts` are postings with the workspace's number of each of their places, int64; NO_PLACE for one that is gone. A
    table's places keep their order.
    """

    def __init__(self, parts: Sequence[tuple[Postings, Int64]]) -> None:
        self._parts = parts
        self._found: dict[str, tuple[Int64, Int64]] = {}  # of terms asked for

    def of(self, term: str) -> tuple[Int64, Int64]:
        """The numbers of the places of a term, in order, with its counts there: int64 [N] each."""
        if term not in self._found:
            self._found[term] = self._of(term)
        return self._found[term]

    def __contains__(self, term: str) -> bool:
        return len(self.of(term)[0]) > 0

    def rows(self, numbers: dict[str, int]) -> Int64:
        """Each place of each term, int64 [N, 2] of (term, place). A term without a number gets the next one."""
        rows = [np.empty((0, 2), np.int64)]
        for postings, places in self._parts:
            found = postings.occurrences(places)
            terms = np.array([numbers.setdefault(term, len(numbers)) for term in found.terms], np.int64)
            rows.append(np.column_stack([terms[found.rows[:, 0]], found.rows[:, 1]]))
        return np.concatenate(rows)

    def at(self, number: int) -> list[str]:
        """The terms at a place, sorted."""
        for postings, numbers in self._parts:
            for place in np.flatnonzero(numbers == number).tolist():
                return postings.at_place(place)
        return []

    def _of(self, term: str) -> tuple[Int64, Int64]:
        found = [
            (numbers[places], counts) for postings, numbers in self._parts for places, counts in [postings.of(term)]
        ]
        places = np.concatenate([np.empty(0, np.int64), *(some for some, _ in found)])
        counts = np.concatenate([np.empty(0, np.int64), *(some for _, some in found)])
        there = np.flatnonzero(places != NO_PLACE)
        order = there[np.argsort(places[there], kind="stable")]
        return places[order], counts[order]
