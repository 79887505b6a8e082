"""RULER (Hsieh et al. 2024, arXiv 2404.06654): its retrieval, tracing and aggregation tasks.

They follow section 3 and appendix B of the paper, with the settings of its `synthetic.yaml`. The text is a workspace of
one file with a sentence or twenty words a line, where RULER has one long line, because Winnow keeps or drops lines. The
worked example of *vt* and *cwe* is left out, and so is the beginning of the answer that RULER provides; answers may
have 128 tokens. The question answering tasks are missing: no package registry has their data (SQuAD, HotpotQA).
"""

from __future__ import annotations

import math
import random
import string
import uuid
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from winnow_engine.index.files import SourceFile
from winnow_engine.question import Question
from winnow_research.evaluation.cases import Gold
from winnow_research.evaluation.needles.base import Spot, Test, Trial
from winnow_research.evaluation.needles.materials import Material, WordLists, fitting
from winnow_research.evaluation.needles.niah import distinct_keys

_PATH = "context.txt"
_RESERVE = 768  # tokens for the instructions, the question and the answer
_SPARE = "      "  # a token for each line: more than its share of a prompt's line numbers
_NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
_WORDS_A_LINE = 20


@dataclass(frozen=True, slots=True)
class RulerNiah:
    """Needles such as `One of the special magic numbers for K is: N.` among essays, noise or other needles."""

    name: str
    haystack: Literal["noise", "essay", "needle"]
    key_type: Literal["words", "uuids"] = "words"
    value_type: Literal["numbers", "uuids"] = "numbers"
    keys: int = 1
    values: int = 1
    queries: int = 1

    def trial(self, material: Material, spot: Spot) -> Trial:
        """See `Test`."""
        rng = material.rng(self.name, spot.tokens, spot.number)
        keys = self._keys(material.words, rng, self.keys)
        hidden = [(key, self._value(rng)) for key in keys for _ in range(self.values)]
        asked = rng.sample(keys, self.queries)
        wanted = [one for one in hidden if one[0] in asked]
        needles = [self._sentence(*one) for one in hidden]
        room = spot.tokens - _RESERVE - _cost(material, needles)
        lines = fitting(self._filler(material, rng), room, lambda line: _cost(material, [line]))
        lines, places = mixed(lines, needles, rng)
        golds = [places[self._sentence(*one)] for one in wanted]
        return _trial(lines, self._question(asked), golds, [value for _, value in wanted])

    def _filler(self, material: Material, rng: random.Random) -> Iterator[str]:
        if self.haystack == "essay":
            first = rng.randrange(len(material.sentences))
            yield from material.sentences[first:] + material.sentences[:first]
        while True:
            (key,) = self._keys(material.words, rng, 1)
            yield self._sentence(key, self._value(rng)) if self.haystack == "needle" else _NOISE

    def _keys(self, words: WordLists, rng: random.Random, count: int) -> list[str]:
        if self.key_type == "words":
            return distinct_keys(words, rng, count)
        return [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(count)]

    def _value(self, rng: random.Random) -> str:
        if self.value_type == "uuids":
            return str(uuid.UUID(int=rng.getrandbits(128), version=4))
        return str(rng.randint(1_000_000, 9_999_999))

    def _sentence(self, key: str, value: str) -> str:
        return f"One of the special magic {self.value_type} for {key} is: {value}."

    def _question(self, keys: Sequence[str]) -> str:
        asked = ", and ".join(filter(None, [", ".join(keys[:-1]), keys[-1]]))
        what, mentioned = f"special magic {self.value_type}", f"for {asked} mentioned in the provided text?"
        if self.queries * self.values == 1:
            what = what.removesuffix("s")
            return f"A {what} is hidden within the text. What is the {what} {mentioned}"
        return f"Some {what} are hidden within the text. What are all the {what} {mentioned}"


_HOPS = 4


def variable_tracking(material: Material, spot: Spot) -> Trial:
    """A chain of assignments in noise. Which variables have the value that the first one gets?"""
    rng = material.rng("vt", spot.tokens, spot.number)
    names = _letters(rng, string.ascii_uppercase, 5, _HOPS + 1)
    value = str(rng.randint(10_000, 99_999))
    chain = [f"VAR {names[0]} = {value}", *(f"VAR {b} = VAR {a}" for a, b in pairwise(names))]
    count = (spot.tokens - _RESERVE - _cost(material, chain)) // _cost(material, [_NOISE])
    lines, places = mixed([_NOISE] * count, chain, rng)
    question = (
        "Memorize and track the chain(s) of variable assignment hidden in the text. "
        f"Find all variables that are assigned the value {value} in the text above."
    )
    return _trial(lines, question, [places[line] for line in chain], names)


_COMMON, _COMMON_TIMES, _UNCOMMON_TIMES = 10, 30, 3


def common_words(material: Material, spot: Spot) -> Trial:
    """A numbered list with ten words that occur thirty times; all others occur three times. Which are the ten?"""
    rng = material.rng("cwe", spot.tokens, spot.number)
    words = rng.sample(material.words.all, len(material.words.all))

    def lines(count: int) -> list[str]:
        listed = words[:_COMMON] * _COMMON_TIMES + words[_COMMON:count] * _UNCOMMON_TIMES
        random.Random(spot.number).shuffle(listed)
        return _in_lines([f"{number}. {word}" for number, word in enumerate(listed, 1)])

    question = (
        "The text is a numbered list of words. In these words, some appear more often than others. Memorize the ones "
        "that appear most often. What are the 10 most common words in the above list?"
    )
    count = _largest(range(_COMMON, len(words)), lines, spot, material)
    return _trial(lines(count), question, [], words[:_COMMON])


_ALPHA = 2.0
_ZETA = math.pi**2 / 6  # of 2


def frequent_words(material: Material, spot: Spot) -> Trial:
    """Coded words whose frequencies follow a zeta distribution. Which three are most frequent, after the dots?"""
    rng = material.rng("fwe", spot.tokens, spot.number)
    words = ["...", *_letters(rng, string.ascii_lowercase, 6, spot.tokens // 50 - 1)]

    def lines(total: int) -> list[str]:
        counts = [int(total * rank**-_ALPHA / _ZETA) for rank in range(1, len(words) + 1)]
        text = [word for word, count in zip(words, counts, strict=True) for _ in range(count)]
        random.Random(spot.number).shuffle(text)
        return _in_lines(text)

    question = (
        "Read the coded text and track the frequency of each coded word. Find the three most frequently appeared coded "
        "words. Do not provide any explanation. Please ignore the dots '....'. What are the three most frequently "
        "appeared words in the above coded text?"
    )
    total = _largest(range(0, spot.tokens, spot.tokens // 64), lines, spot, material)
    return _trial(lines(total), question, [], words[1:4])


def mixed(lines: Sequence[str], needles: Sequence[str], rng: random.Random) -> tuple[list[str], dict[str, Gold]]:
    """The lines with the needles put between them at random, in order, and where each needle is."""
    indexes = sorted(rng.sample(range(len(lines) + 1), len(needles)), reverse=True)
    found = list(lines)
    for index, needle in zip(indexes, reversed(needles), strict=True):
        found.insert(index, needle)
    numbers = [index + 1 + before for before, index in enumerate(reversed(indexes))]
    return found, {needle: Gold(_PATH, number, number) for needle, number in zip(needles, numbers, strict=True)}


def tests() -> Iterator[Test]:
    """The eleven tasks whose data can be generated."""
    niah = (
        RulerNiah("ruler niah_single_1", "noise"),
        RulerNiah("ruler niah_single_2", "essay"),
        RulerNiah("ruler niah_single_3", "essay", value_type="uuids"),
        RulerNiah("ruler niah_multikey_1", "essay", keys=4),
        RulerNiah("ruler niah_multikey_2", "needle"),
        RulerNiah("ruler niah_multikey_3", "needle", key_type="uuids", value_type="uuids"),
        RulerNiah("ruler niah_multivalue", "essay", values=4),
        RulerNiah("ruler niah_multiquery", "essay", keys=4, queries=4),
    )
    yield from (Test(one.name, one.trial) for one in niah)
    yield Test("ruler vt", variable_tracking)
    yield Test("ruler cwe", common_words)
    yield Test("ruler fwe", frequent_words)


def _trial(lines: Sequence[str], question: str, golds: Sequence[Gold], wanted: Sequence[str]) -> Trial:
    data = "".join(f"{line}\n" for line in lines).encode()
    return Trial((SourceFile(_PATH, data),), Question(question), tuple(golds), tuple(wanted))


def _cost(material: Material, lines: Sequence[str]) -> int:
    """The tokens that lines take in a prompt."""
    return material.count("".join(f"{_SPARE}{line}\n" for line in lines))


def _largest(sizes: range, lines: Callable[[int], list[str]], spot: Spot, material: Material) -> int:
    """The largest size whose lines fit the spot, or the smallest if none does."""
    room = spot.tokens - _RESERVE
    held = bisect_right(sizes, room, key=lambda size: _cost(material, lines(size)))
    return sizes[max(held - 1, 0)]


def _in_lines(words: Sequence[str]) -> list[str]:
    starts = range(0, len(words), _WORDS_A_LINE)
    return [" ".join(words[start : start + _WORDS_A_LINE]) for start in starts]


def _letters(rng: random.Random, alphabet: str, length: int, count: int) -> list[str]:
    """`count` different strings of `length` random letters."""
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choices(alphabet, k=length))] = None
    return list(found)
