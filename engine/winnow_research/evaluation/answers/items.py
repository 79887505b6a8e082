"""Questions to the target, and how its answers are scored."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from winnow_engine.core import Sampling
from winnow_engine.question import Question
from winnow_engine.targets.answer import Answer
from winnow_research.evaluation.answers.similarity import bleu
from winnow_research.evaluation.repositories import SourceFile

Scores = dict[str, float]
"""Scores by name, each from 0 to 1."""

_SAME = 0.8  # from this similarity on it is the wanted function, as in RepoQA (Liu et al. 2024, arXiv 2406.06025)
_BLOCK = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_NUMBER = re.compile(r"^ {0,4}\d+ (?= *\S)", re.MULTILINE)  # copied from the prompt


@dataclass(frozen=True, slots=True)
class Item:
    """A question of test `test`. `scores(answer)` has the scores of an answer that was sampled by `sampling`."""

    test: str
    question: Question
    scores: Callable[[Answer], Scores]
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Sheet:
    """A workspace with the questions about it."""

    name: str
    files: tuple[SourceFile, ...]
    items: tuple[Item, ...]


def gives_back(function: str) -> Callable[[Answer], Scores]:
    """Scores whether an answer gives back a function, in its first block of code or, without one, as a whole."""

    def scores(answer: Answer) -> Scores:
        block = _BLOCK.search(answer.text)
        written = _NUMBER.sub("", block[1] if block else answer.text)
        return {"right": float(bleu(written, function) >= _SAME)}

    return scores
