"""BM25 over units (Robertson and Zaragoza 2009, eq. 3.15), with words cut as code cuts them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_K1, _B = 1.5, 0.75
_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|\d+")


def words(text: str) -> list[str]:
    """`parseHTTPHeader_v2` → parse, http, header, 2; single letters say nothing."""
    return [word.lower() for word in _WORD.findall(text)]


class LexicalIndex:
    """An inverted index of the words of a workspace's units."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths = np.zeros(len(texts))
        for unit, text in enumerate(texts):
            found = words(text)
            lengths[unit] = len(found)
            for word, count in Counter(found).items():
                self._postings[word].append((unit, count))
        self._norm = _K1 * (1 - _B + _B * lengths / max(lengths.mean() if len(texts) else 0.0, 1.0))

    def score(self, query: str) -> NDArray[np.float32]:
        """BM25 of every unit, float32 [U]; 0 where no word of the query stands."""
        scores = np.zeros(len(self._norm))
        for word, repeats in Counter(words(query)).items():
            postings = self._postings.get(word)
            if postings:
                units, counts = (np.array(column) for column in zip(*postings, strict=True))
                scores[units] += repeats * self._rarity(word) * counts * (_K1 + 1) / (counts + self._norm[units])
        return scores.astype(np.float32)

    def known_share(self, query: str) -> float:
        """The share of a query's distinct words that stand in some text, each weighed by its rarity; 0 to 1."""
        rarity = {word: self._rarity(word) for word in words(query)}
        known = sum(weight for word, weight in rarity.items() if word in self._postings)
        return known / sum(rarity.values()) if rarity else 0.0

    def _rarity(self, word: str) -> float:
        """ln(1 + (N − n + ½) / (n + ½)) for a word in n of N texts."""
        found = len(self._postings.get(word, ()))
        return math.log(1 + (len(self._norm) - found + 0.5) / (found + 0.5))
