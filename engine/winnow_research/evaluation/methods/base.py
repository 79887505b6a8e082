"""What a method is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.question import CodeAtCursor, Question
from winnow_engine.selection.budget import KeptUnit, choose
from winnow_engine.selection.workspace_units import WorkspaceUnits
from winnow_engine.storage.store import Store

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Resources:
    """What methods may load: a drafter's GGUF file."""

    drafter_file: Path

    def drafter(self) -> Drafter:
        """The drafter with the profile that ships for it, loaded on the first call and shared by all methods."""
        return self._drafter

    @cached_property
    def _drafter(self) -> Drafter:
        return Drafter(self.drafter_file)


@dataclass(frozen=True)
class Subject:
    """A workspace to be scored. `count` counts a text's tokens; `store` caches what a method computes from files."""

    sources: Sources
    workspace: Workspace
    store: Store
    count: Callable[[str], int]

    @cached_property
    def unit_tokens(self) -> NDArray[np.int32]:
        """Tokens by unit, int32 [U]."""
        return np.array([self.count(file.text_of(unit)) for file, unit in self.workspace.units], np.int32)

    @property
    def tokens(self) -> int:
        """Tokens of all units."""
        return int(self.unit_tokens.sum())

    def code_at(self, question: Question) -> CodeAtCursor | None:
        """The code the question is about, as the drafter wants it."""
        return self.workspace.located(question).code

    def text_of(self, question: Question) -> str:
        """The question with the code it is about."""
        code = self.code_at(question)
        return f"{question.text}\n{code.text if code else ''}"


@dataclass(frozen=True)
class Ranking:
    """A method's answer to a question: the units' scores, float32 [U], and `keep(tokens)`, the pieces it would keep.

    `order` has the units as they are shown, int64 [U], best first. `features(unit)` are contributions to its score.
    """

    scores: Scores
    keep: Callable[[int], list[KeptUnit]]
    features: Callable[[int], Mapping[str, float]] = lambda _: {}

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The units by score, of equal ones the first first."""
        return np.argsort(-self.scores, kind="stable")


Ranker = Callable[[Question], Ranking]


class Method(Protocol):
    """A way of scoring units. `most_tokens` is the largest workspace that takes bearable time, None without a limit."""

    name: str
    most_tokens: int | None

    def ranker(self, subject: Subject) -> Ranker:
        """Prepare a workspace for questions. WinnowError, whose message is shown, if the method cannot run here."""


def by_units(subject: Subject, question: Question, scores: Scores) -> Ranking:
    """The ranking that Winnow's own selection makes of scores: whole units, those at the cursor first."""
    source = WorkspaceUnits(subject.workspace, subject.unit_tokens, subject.count)
    focus = source.focus(question.cursor) if question.cursor else None
    return Ranking(scores, lambda budget: choose(source, scores, budget, focus))
