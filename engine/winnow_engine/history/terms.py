"""Terms of messages and code, which are words without their endings and whole names; and BM25 of messages."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from winnow_engine.index.words import spelled_words

_VOWEL = re.compile(r"[aeiouy]")
_NAME = "="  # before a whole name, which no word begins with
_MOST_TERMS = 64  # of a question, those of the highest weight
_K1, _B = 1.5, 0.75  # of BM25 (Robertson and Zaragoza 2009, eq. 3.15)


def whole(name: str) -> str:
    """The term of a name as it is written."""
    return _NAME + name


def stem(word: str) -> str:
    """The common part of `changes`, `Changed` and `changing`."""
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


def score_messages(messages: Sequence[str], terms: Mapping[str, float]) -> NDArray[np.float32]:
    """BM25 of every message for the 64 stems of the highest weight, float32 [N]."""
    terms = dict(sorted(terms.items(), key=lambda term: -term[1])[:_MOST_TERMS])
    counts, lengths = _counts(messages, {term: column for column, term in enumerate(terms)})
    rarities = np.array([rarity(int(found), len(messages)) for found in (counts > 0).sum(axis=0)])
    norm = _K1 * (1 - _B + _B * lengths / max(lengths.mean() if len(lengths) else 0.0, 1.0))
    weights = (rarities * np.array(list(terms.values())) * (_K1 + 1)).astype(np.float32)
    scores: NDArray[np.float32] = (weights * counts / (counts + norm.astype(np.float32)[:, None])).sum(axis=1)
    return scores


def rarity(found: int, among: int) -> float:
    """ln(1 + (N − n + ½) / (n + ½)) for a term in n of N texts."""
    return math.log(1 + (among - found + 0.5) / (found + 0.5))


def _counts(messages: Sequence[str], columns: Mapping[str, int]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Frequency of each stem in each message, [N, T], and the messages' numbers of words, [N]."""
    counts = np.zeros((len(messages), len(columns)), np.float32)
    lengths = np.zeros(len(messages), np.int32)
    column_of: dict[str, int | None] = {}
    for row, message in enumerate(messages):
        found = spelled_words(message)
        lengths[row] = len(found)
        for word in found:
            if word not in column_of:
                column_of[word] = columns.get(stem(word))
            column = column_of[word]
            if column is not None:
                counts[row, column] += 1
    return counts, lengths
