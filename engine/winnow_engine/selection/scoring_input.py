"""A question about a workspace, with the drafter's scores of its units for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Cancellation, Scores
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.names import AskedNames, names_in
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.workspace_keys import WorkspaceKeys
from winnow_engine.question import Question
from winnow_engine.selection.candidates import Candidates, every
from winnow_engine.selection.subquestions import subquestions_of

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and deviation of a score over a workspace."""

    mean: np.floating
    deviation: np.floating


@dataclass(frozen=True)
class Matches:
    """Matches of a question's text in a workspace, each computed when it is first asked for."""

    workspace: Workspace
    question: Question

    @property
    def text(self) -> str:
        """The text to search for."""
        return self.question.search_text

    @cached_property
    def words(self) -> Scores:
        """BM25 of every unit of the workspace, float32 [U]."""
        return self.workspace.lexical.score_question(self.text)

    @cached_property
    def titles(self) -> Scores:
        """BM25 of every unit's name, float32 [U]."""
        return self.workspace.titles.score_question(self.text)

    @cached_property
    def paths(self) -> Scores:
        """BM25 of every file's path, float32 [F]."""
        return self.workspace.paths.score_question(self.text)

    @cached_property
    def files(self) -> list[int]:
        """The files that it names by their path or the end of it, as numbers."""
        return [*chain.from_iterable(self.workspace.file_table.named(self.text.replace("\\", "/")).values())]

    @cached_property
    def names(self) -> AskedNames:
        """The names of code that it may mean."""
        return self.workspace.symbols.asked(self.text)

    @cached_property
    def defined(self) -> Scores:
        """Scores of the units that define names it surely means, float32 [U]."""
        return self.workspace.symbols.definitions(self.names.certain)

    @cached_property
    def mentioned(self) -> Scores:
        """Scores of the units that define names it may mean, float32 [U]."""
        return self.workspace.symbols.definitions(self.names.possible)

    @cached_property
    def users(self) -> Scores:
        """Scores of the units that use names it surely means, float32 [U]."""
        return self.workspace.symbols.users(self.names.certain)

    @cached_property
    def defined_for_cursor(self) -> Scores:
        """Scores of the units that define names which the code at the cursor uses and does not define, float32 [U]."""
        cursor, code = self.question.cursor, self.question.code
        names = names_in(code.text) - self.workspace.names_at(cursor)[0] if cursor and code else set[str]()
        return self.workspace.symbols.definitions(names)


@dataclass(frozen=True, slots=True)
class Links:
    """The leading units, with their likelihoods as shares of the first one's, and the code that they lead to.

    `files` sums the leaders' likelihoods by file, float64 [F]; `used` scores the units that they use, `using` those
    that use them, float32 [U].
    """

    leaders: Mapping[int, float]
    files: NDArray[np.float64]
    used: Scores
    using: Scores


@dataclass(frozen=True)
class ScoringInput:
    """A question about a workspace, with the drafter's scores: the input of all features.

    The question has a cursor and code only if it is about that code. `candidates` are the C units to score of the
    workspace's U, None for all. `drafter_scores` has the profile's scores of these by name, NaN for units without keys,
    and `moments` those of scores that are known of all units. Matches and links found before are passed on. A question
    that asks for several things has `subquestions` with candidates of their own.
    """

    workspace: Workspace
    question: Question
    drafter_scores: Mapping[str, Scores]
    subquestions: tuple[ScoringInput, ...] = ()
    candidates: Candidates | None = None
    moments: Mapping[str, Moments] = field(default_factory=dict)
    known_matches: Matches | None = None
    links: Links | None = None

    @cached_property
    def matches(self) -> Matches:
        """Matches of the question's text."""
        return self.known_matches or Matches(self.workspace, self.question)

    @property
    def text(self) -> str:
        """The text to search for."""
        return self.matches.text

    @cached_property
    def scored(self) -> Candidates:
        """The units that are scored."""
        return self.candidates or every(int(self.workspace.unit_starts[-1]))

    @cached_property
    def file_numbers(self) -> NDArray[np.int64]:
        """The number of the file of each of them, int64 [C]."""
        return self.workspace.files_of(self.scored.units)

    def pick(self, of_units: NDArray[T]) -> NDArray[T]:
        """The values of scored units, [C], among those of all, [U]."""
        return of_units[self.scored.units]


def about(question: Question) -> Question:
    """The question with the code it is about, if any: that at the cursor, or a change's. Otherwise without a cursor."""
    if question.change is not None:
        return replace(question, cursor=None, code=question.change.code)
    return question if question.is_about_cursor else replace(question, cursor=None, code=None)


def without_drafter(workspace: Workspace, question: Question) -> ScoringInput:
    """A located question and its sub-questions with everything but the drafter's scores."""
    question = about(question)
    texts = () if question.code is not None else subquestions_of(question.text)
    return ScoringInput(workspace, question, {}, tuple(ScoringInput(workspace, Question(text), {}) for text in texts))


def ask_drafter(
    workspace: Workspace, keys: WorkspaceKeys, drafter: Drafter, question: Question, cancellation: Cancellation
) -> ScoringInput:
    """Score all units of a workspace with the drafter, for a located question and each of its sub-questions.

    A question about the code at the cursor, or about a change, is scored with that code and has no sub-questions. Any
    other question ignores the cursor. Raises CancelledError.
    """
    asked = without_drafter(workspace, question)
    texts = [asked.text, *(one.question.text for one in asked.subquestions)]
    found = drafter.score(keys.joined.arrays, keys.joined.offsets, texts, asked.question.code, cancellation)
    of_each = zip([asked, *asked.subquestions], found, strict=True)
    whole, *subquestions = (replace(one, drafter_scores=keys.by_unit(scores)) for one, scores in of_each)
    return replace(whole, subquestions=tuple(subquestions))
