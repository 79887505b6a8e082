"""Terms of questions, messages and code: words without their endings, and whole names; and BM25 of messages."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_MOST_CHARACTERS = 4_000  # of a question
# Paths are bounded and begin where a word or a separator does, so that the time grows with the text alone.
_CODE = re.compile(
    r"`[^`]*`|\b_\w+|(?:(?<![\w/-])|(?=[/-]))[\w/-]{1,250}(?:(?:\.|_+|::)\w+)+"
    r"|\b[a-z]+[A-Z]\w*|\b[A-Z]+[a-z]+[A-Z]\w*|\b[A-Z]{2,}[a-z]\w*|\b\w+(?=\(\))"
)
_WEAK = 0.2  # weight of a word that says what happened, or to what kind of thing

_ASKING_WORDS = """
a an and any are as at been by can could date did do does ever first for from had has have how i in is it its last
lately latest me most newest our recent recently since so that the their there these they this those time to us was we
were what when which who why with would you commit commits version release
"""
_ADDED_WORDS = "add appear begin began create implement introduce start started"
_WEAK_WORDS = """
alter change edit happen modify touch update delete disappear drop gone removal remove stop class constant field file
function method module option type variable
"""
_ASKING = frozenset(_ASKING_WORDS.split())
_ADDED = frozenset(map(stem, _ADDED_WORDS.split()))
_WEAK_STEMS = _ADDED | frozenset(map(stem, _WEAK_WORDS.split()))


@dataclass(frozen=True)
class Asked:
    """A question's stems with weights, and the names in it that are written like code.

    `alone` says that the only name is a plain word, `only_code` that there is nothing else to go by, `added` that it
    asks when something came.
    """

    terms: Mapping[str, float]
    code: tuple[str, ...]
    alone: bool
    only_code: bool
    added: bool


def asked_in(question: str) -> Asked:
    """The terms and names of a question. If all its words are words of asking, they are its terms."""
    question = question[:_MOST_CHARACTERS]
    code = [part.strip("`") for part in _CODE.findall(question)]
    rest = _CODE.sub(" ", question)
    plain = [word.lower() for word in spelled_words(rest)]
    said = [word for word in plain if word not in _ASKING and stem(word) not in _WEAK_STEMS]
    terms: dict[str, float] = defaultdict(float)
    for word in plain:
        if word not in _ASKING:
            terms[stem(word)] += _WEAK if stem(word) in _WEAK_STEMS else 1.0
    for word in spelled_words(" ".join(code)):
        terms[stem(word)] += 1.0
    alone = [name for name in _PLAIN_NAME.findall(rest) if name.lower() in said] if not code and len(said) == 1 else []
    return Asked(
        terms=dict(terms) or dict.fromkeys(map(stem, plain), 1.0),
        code=tuple(code or alone),
        alone=bool(alone),
        only_code=bool(code) and not said,
        added=any(stem(word) in _ADDED for word in plain),
    )
