"""The nouns of tests with needles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from winnow_engine.index.files import SourceFile
from winnow_engine.question import Question
from winnow_research.evaluation.cases import Gold
from winnow_research.evaluation.needles.materials import Material


@dataclass(frozen=True, slots=True)
class Trial:
    """A workspace that hides what its question asks for.

    `golds` are the lines that an answer needs, empty if it needs all of them. A right answer contains all of `wanted`.
    """

    files: tuple[SourceFile, ...]
    question: Question
    golds: tuple[Gold, ...]
    wanted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spot:
    """Which trial of a test to make: number `number` of `count`, in a workspace of at most `tokens` tokens."""

    tokens: int
    number: int
    count: int

    @property
    def depth(self) -> float:
        """Where the first needle belongs, 0 (start) to 1 (end). The trials cover the workspace evenly."""
        return (self.number + 0.5) / self.count


@dataclass(frozen=True, slots=True)
class Test:
    """A test by name. `trial(material, spot)` makes one trial; equal arguments give equal trials."""

    name: str
    trial: Callable[[Material, Spot], Trial]


def share_of(wanted: tuple[str, ...], answer: str) -> float:
    """The share of the wanted strings that an answer contains, regardless of case (RULER's `string_match_all`)."""
    text = answer.lower()
    return sum(one.lower() in text for one in wanted) / len(wanted)
