"""BM25 over units (Robertson and Zaragoza 2009, eq. 3.15), with identifiers split into words."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_K1, _B = 1.5, 0.75
_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|\d+")


def words(text: str) -> list[str]:
    """`parseHTTPHeader_v2` → parse, http, header, 2. Single lower-case letters are left out."""
    return [word.lower() for word in _WORD.findall(text)]


class WordCounts:
    """How often each word occurs in each of some texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        """By word: the number of each text it occurs in, with its count there."""
        self.lengths: list[int] = []
        """The number of words of each text."""
        for number, text in enumerate(texts):
            found = words(text)
            self.lengths.append(len(found))
            for word, count in Counter(found).items():
                self.places[word].append((number, count))


class LexicalIndex:
    """An inverted index of texts that come in groups, such as the units of each file; it numbers them through.

    Joining groups is quick whatever they hold, so that after an edit only the edited file's words are counted again.
    """

    def __init__(self, groups: Sequence[WordCounts]) -> None:
        self._groups = groups
        self._found: dict[str, tuple[NDArray[np.int64], ...]] = {}  # of words asked for
        self._starts = np.cumsum([0, *(len(group.lengths) for group in groups)]).tolist()
        lengths = np.array([length for group in groups for length in group.lengths], np.float64)
        self._norm = _K1 * (1 - _B + _B * lengths / max(lengths.mean() if len(lengths) else 0.0, 1.0))

    def score(self, query: str) -> NDArray[np.float32]:
        """BM25 of every unit, float32 [U]; 0 for one without any word of the query."""
        scores = np.zeros(len(self._norm))
        for word, repeats in Counter(words(query)).items():
            units, counts = self._places(word)
            if len(units):
                rarity = self._rarity(len(units))
                scores[units] += repeats * rarity * counts * (_K1 + 1) / (counts + self._norm[units])
        return scores.astype(np.float32)

    def known_share(self, query: str) -> float:
        """The share of a query's distinct words that occur in some text, each weighted by its rarity; 0 to 1."""
        found = [len(self._places(word)[0]) for word in dict.fromkeys(words(query))]
        rarity = [self._rarity(texts) for texts in found]
        known = sum(weight for weight, texts in zip(rarity, found, strict=True) if texts)
        return known / sum(rarity) if rarity else 0.0

    def _places(self, word: str) -> tuple[NDArray[np.int64], ...]:
        """The number of each text a word occurs in, with its count there: int64 [N] each."""
        if word not in self._found:
            groups = zip(self._starts, self._groups, strict=False)
            places = [(start + text, count) for start, group in groups for text, count in group.places.get(word, ())]
            self._found[word] = tuple(np.array(places, np.int64).reshape(-1, 2).T)
        return self._found[word]

    def _rarity(self, found: int) -> float:
        """ln(1 + (N − n + ½) / (n + ½)) for a word in n of N texts."""
        return math.log(1 + (len(self._norm) - found + 0.5) / (found + 0.5))
