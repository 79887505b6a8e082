"""Needles in a haystack (Kamradt 2023), with RULER's four kinds, in code and in prose, as code and as sentences.

A needle is the magic number of a made-up thing. *single*: one needle is hidden and asked for. *multikey*: three needles
of other things are hidden with it. *multivalue*: one thing has four numbers, and all are asked for. *multiquery*: four
things are asked for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

from winnow_engine.question import Question
from winnow_research.evaluation.needles.base import Spot, Test, Trial
from winnow_research.evaluation.needles.hiding import hide
from winnow_research.evaluation.needles.materials import Material, WordLists
from winnow_research.evaluation.needles.needle import Needle, Style

Kind = Literal["single", "multikey", "multivalue", "multiquery"]

_MANY = 4  # needles of every kind but single, as in RULER
_ORDINALS = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class Niah:
    """One test: needles of one kind and style, hidden in code or prose."""

    kind: Kind
    needle: Style
    filler: Style

    @property
    def name(self) -> str:
        """For instance `multikey: prose in code`."""
        return f"{self.kind}: {self.needle} in {self.filler}"

    def trial(self, material: Material, spot: Spot) -> Trial:
        """A workspace with the needles: the first at the spot's depth, the others anywhere."""
        rng = material.rng(self.name, spot.tokens, spot.number)
        filler = material.code if self.filler == "code" else material.prose
        needles = self._needles(material.words, rng)
        depths = [spot.depth, *(rng.random() for _ in needles[1:])]
        files, golds = hide(filler(spot.tokens, spot.number), needles, depths)
        asked = len(needles) if self.kind in ("multivalue", "multiquery") else 1
        wanted = tuple(needle.value for needle in needles[:asked])
        return Trial(files, Question(_question(needles[:asked])), golds[:asked], wanted)

    def _needles(self, words: WordLists, rng: random.Random) -> list[Needle]:
        count = 1 if self.kind == "single" else _MANY
        values = rng.sample(range(1_000_000, 10_000_000), count)  # of seven digits, as in RULER
        keys = distinct_keys(words, rng, 1 if self.kind == "multivalue" else count)
        if self.kind == "multivalue":
            named = zip(keys * count, values, _ORDINALS, strict=True)
            return [Needle(key, str(value), self.needle, ordinal) for key, value, ordinal in named]
        return [Needle(key, str(value), self.needle) for key, value in zip(keys, values, strict=True)]


def distinct_keys(words: WordLists, rng: random.Random, count: int) -> list[str]:
    """`count` different keys."""
    keys: dict[str, None] = {}
    while len(keys) < count:
        keys[words.key(rng)] = None
    return list(keys)


def tests() -> Iterator[Test]:
    """All sixteen tests."""
    for filler, needle, kind in product(get_args(Style), get_args(Style), get_args(Kind)):
        one = Niah(kind, needle, filler)
        yield Test(one.name, one.trial)


def _question(needles: list[Needle]) -> str:
    things = list(dict.fromkeys(f"the {needle.spoken}" for needle in needles))
    if len(things) > 1:
        return f"What are the magic numbers of {', '.join(things[:-1])} and {things[-1]}?"
    asked = "are all the magic numbers" if len(needles) > 1 else "is the magic number"
    return f"What {asked} of {things[0]}?"
