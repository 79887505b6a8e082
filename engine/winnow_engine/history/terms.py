"""The terms of a history: words without their endings, and whole names; many texts at a time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from winnow_engine.index.postings import Postings, Strings

Int64 = NDArray[np.int64]

# Of letters that are not ASCII no case is known here, so they go on with a word.
_WORD = re.compile(r"[A-Za-z\u0080-\U0010ffff][a-z\u0080-\U0010ffff]+|[A-Z]+(?![a-z\u0080-\U0010ffff])|\d+")
_VOWEL = re.compile(r"[aeiouy]")
_NAME = "="  # before a whole name, which no word begins with


def words(text: str) -> list[str]:
    """`parseHTTPHeader_v2` → parse, HTTP, Header, 2. Single lower-case letters are left out."""
    return _WORD.findall(text)


def whole(name: str) -> str:
    """The term of a name as it is written."""
    return _NAME + name


def stem(word: str) -> str:
    """What `changes`, `Changed` and `changing` have in common. A whole name stays as it is."""
    if word.startswith(_NAME):
        return word
    word = word.lower()
    if len(word) > 4 and word.endswith("ies"):
        word = f"{word[:-3]}y"
    elif len(word) > 3 and word.endswith("s") and word[-2] not in "sui":
        word = word[:-1]
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 1 and word.endswith(ending) and _VOWEL.search(word[: -len(ending)]):
            word = word[: -len(ending)]
            break
    word = word[:-1] if len(word) > 2 and word.endswith("e") else word
    return word[:-1] if len(word) > 2 and word[-1] == word[-2] else word


def words_of_names(names: Iterable[str]) -> list[str]:
    """The whole names and the words in them."""
    return [term for name in names for term in (whole(name), *words(name))]


class Gathering:
    """The words of numbered texts, some texts at a time, of which postings are made at the end."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._words: list[Int64] = []
        self._places: list[Int64] = []

    def add(self, places: Int64, texts: Sequence[Sequence[str]]) -> None:
        """Take note of the words of texts; `places`, int64 [T], numbers them."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        numbers = map(self._numbers.__getitem__, chain.from_iterable(texts))
        self._words.append(np.fromiter(numbers, np.int64, int(lengths.sum())))
        self._places.append(np.repeat(places, lengths))

    def lengths(self, places: int) -> NDArray[np.int32]:
        """How many words each of the texts 0 to `places` has, int32."""
        found = np.bincount(self._joined(self._places), minlength=places)
        return found.astype(np.int32)

    def postings(self, places: int) -> Postings:
        """Where each term occurs among the texts 0 to `places`, and how often."""
        terms = [stem(word) for word in self._numbers]
        ordered = sorted(set(terms))
        rank = {term: number for number, term in enumerate(ordered)}
        ranks = np.fromiter(map(rank.__getitem__, terms), np.int64, len(terms))
        keys = ranks[self._joined(self._words)] * max(places, 1) + self._joined(self._places)
        found, counts = np.unique(keys, return_counts=True)
        term, place = np.divmod(found, max(places, 1))
        ends = np.cumsum(np.bincount(term, minlength=len(ordered)), dtype=np.int64)
        none = np.empty(0, np.int32)
        return Postings(
            Strings.of(ordered), ends, place.astype(np.int32), counts.astype(np.int32), none, none.astype(np.int64)
        )

    def _joined(self, parts: Sequence[Int64]) -> Int64:
        return np.concatenate([np.empty(0, np.int64), *parts])


def joined(parts: Iterable[tuple[Postings, int]], places: int) -> Postings:
    """One of several postings: the places of each begin at a number, and there are so many in all."""
    moved = (postings.occurrences(np.arange(first, places)) for postings, first in parts)
    return Postings.built(moved, places, by_place=False)
