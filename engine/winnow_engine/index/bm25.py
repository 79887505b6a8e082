"""BM25 over units (Robertson and Zaragoza 2009, eq. 3.15), with identifiers split into words, these into stems."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from functools import lru_cache, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.index.english import english_words, without_small_words
from winnow_engine.index.postings import Occurrences, Places, Postings
from winnow_engine.index.words import words

_K1, _B = 1.5, 0.75
_LONGEST = 100  # letters of a word that has a stem: it takes quadratic time, 1 s for 100,000


def stems(text: str) -> list[str]:
    """The words of a text, those of at most 100 ASCII letters as stems: `parsedHeaders` → pars, header."""
    return list(map(stem, words(text)))


@lru_cache(maxsize=1 << 16)  # a word takes 1.5 µs, in Python 25
def stem(word: str) -> str:
    """The stem of a word in lower case, of at most 100 ASCII letters; any other word as it is."""
    if len(word) > _LONGEST or not word.isascii():
        return word
    from snowballstemmer import stemmer  # here, since all languages come with it if PyStemmer is missing: 40 ms

    return str(stemmer("english").stemWord(word))  # a stemmer of its own: threads cannot share one


def counted(texts: Iterable[str], wanted: Container[str] | None = None) -> tuple[Occurrences, NDArray[np.int32]]:
    """Occurrences of each word, or those wanted, in each of some texts, and the number of words of each, int32 [N]."""
    numbers: dict[str, int] = {}
    found, lengths = list[Counter[str]](), list[int]()
    for text in texts:
        there = stems(text)
        lengths.append(len(there))
        found.append(Counter(there if wanted is None else filter(wanted.__contains__, there)))
    terms = [numbers.setdefault(word, len(numbers)) for one in found for word in one]
    places = [place for place, one in enumerate(found) for _ in one]
    counts = [count for one in found for count in one.values()]
    rows = np.column_stack([terms, places, counts]).astype(np.int32)
    return Occurrences(list(numbers), rows), np.array(lengths, np.int32)


class LexicalIndex:
    """Words of numbered texts, such as a workspace's units. `lengths`, [U], are their numbers of words."""

    def __init__(self, places: Places, lengths: NDArray[Any]) -> None:
        self._places = places.of
        self._norm = _K1 * (1 - _B + _B * lengths / max(lengths.mean() if len(lengths) else 0.0, 1.0))

    @classmethod
    def of_texts(cls, texts: Iterable[str], wanted: Container[str] | None = None) -> LexicalIndex:
        """The index of these texts, numbered in order, of all stems or those wanted."""
        found, lengths = counted(texts, wanted)
        return cls(Places([(Postings.built([found], len(lengths)), np.arange(len(lengths)))]), lengths)

    def score(self, query: str) -> NDArray[np.float32]:
        """BM25 of every unit, float32 [U]; 0 for one that has no word of the query, in English either."""
        return self._score(query, query)

    def score_question(self, question: str) -> NDArray[np.float32]:
        """The same for a question, whose small words are not looked for."""
        return self._score(without_small_words(question), question)

    def _score(self, words: str, query: str) -> NDArray[np.float32]:
        return self.score_stems(Counter([*stems(words), *sorted(set(map(stem, english_words(query))))]))

    def score_stems(self, weights: Mapping[str, float]) -> NDArray[np.float32]:
        """BM25 for the stems of a query and their weights."""
        scores = np.zeros(len(self._norm))
        for word, weight in weights.items():
            units, counts = self._places(word)
            if len(units):
                rarity = self.rarity(len(units))
                scores[units] += weight * rarity * counts * (_K1 + 1) / (counts + self._norm[units])
        return scores.astype(np.float32)

    def having_all(self, query: str) -> NDArray[np.int64]:
        """Numbers of the texts that have each word of a query, in order, int64 [N]; none if it has no words."""
        found = sorted((self._places(word)[0] for word in set(stems(query))), key=len)
        return reduce(partial(np.intersect1d, assume_unique=True), found) if found else np.empty(0, np.int64)

    def known_share(self, query: str) -> float:
        """Share of a query's distinct words that occur in some text, each weighted by its rarity; 0 to 1."""
        found = [len(self._places(word)[0]) for word in dict.fromkeys(stems(query))]
        rarity = [self.rarity(texts) for texts in found]
        known = sum(weight for weight, texts in zip(rarity, found, strict=True) if texts)
        return known / sum(rarity) if rarity else 0.0

    def rarity(self, found: int) -> float:
        """ln(1 + (N − n + ½) / (n + ½)) for a word in n of N texts."""
        return math.log(1 + (len(self._norm) - found + 0.5) / (found + 0.5))
