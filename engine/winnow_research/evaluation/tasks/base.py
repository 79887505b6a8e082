"""What a family of questions is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.corpus import Corpus


@dataclass(frozen=True, slots=True)
class Family:
    """`scenes(corpus, tokens)` makes workspaces of at most `tokens` tokens with their questions.

    Equal corpora give equal scenes. A family that is not `sized` takes repositories whole, whatever `tokens` says.
    """

    name: str
    scenes: Callable[[Corpus, int], Iterator[Scene]]
    sized: bool = True
