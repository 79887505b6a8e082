"""Questions to the target, and how its answers are judged."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from winnow_engine.question import Question
from winnow_research.evaluation.answers.similarity import bleu
from winnow_research.evaluation.repositories import SourceFile

_SAME = 0.8  # from this similarity on it is the wanted function, as in RepoQA (Liu et al. 2024, arXiv 2406.06025)
_BLOCK = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_NUMBER = re.compile(r"^ {0,4}\d+ (?= *\S)", re.MULTILINE)  # copied from the prompt


@dataclass(frozen=True, slots=True)
class Item:
    """A question of test `test`. `right(answer)` says whether an answer of at most `most_tokens` tokens is right."""

    test: str
    question: Question
    right: Callable[[str], bool]
    most_tokens: int


@dataclass(frozen=True, slots=True)
class Sheet:
    """A workspace with the questions about it."""

    name: str
    files: tuple[SourceFile, ...]
    items: tuple[Item, ...]


def gives_back(function: str) -> Callable[[str], bool]:
    """Judges whether an answer gives back a function, in its first block of code or, without one, as a whole."""

    def right(answer: str) -> bool:
        block = _BLOCK.search(answer)
        return bleu(_NUMBER.sub("", block[1] if block else answer), function) >= _SAME

    return right
