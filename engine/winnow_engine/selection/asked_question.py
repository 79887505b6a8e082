"""A question about a workspace, with the drafter's scores of every unit for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from winnow_engine.core import Cancellation, Question, Scores
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.index.names import AskedNames, identifiers
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.key_cache import WorkspaceKeys
from winnow_engine.selection.subquestions import subquestions_of


@dataclass(frozen=True)
class AskedQuestion:
    """What the features of a question and of the units are computed from.

    The question has a cursor, and the code there, only if it is about that code. `drafter_scores` are the scores the
    drafter's profile gives, by name; NaN for units without keys. A question that asks for several things has
    `subquestions`, each asked on its own.
    """

    workspace: Workspace
    question: Question
    drafter_scores: Mapping[str, Scores]
    subquestions: tuple[AskedQuestion, ...] = ()

    @property
    def text(self) -> str:
        """The text to search for."""
        return self.question.search_text

    @cached_property
    def words(self) -> Scores:
        """BM25 of every unit."""
        return self.workspace.lexical.score(self.text)

    @cached_property
    def names(self) -> AskedNames:
        """The names of code that the question may mean."""
        return self.workspace.symbols.asked(self.text)

    @cached_property
    def names_at_cursor(self) -> set[str]:
        """The names that the code at the cursor uses and does not itself define."""
        cursor, code = self.question.cursor, self.question.code
        return identifiers(code.text) - self.workspace.names_defined_at(cursor) if cursor and code else set()


def about(question: Question) -> Question:
    """The question, without the cursor if it is not about the code there."""
    return question if question.is_about_cursor else replace(question, cursor=None, code=None)


def ask_drafter(
    workspace: Workspace, keys: WorkspaceKeys, drafter: Drafter, question: Question, cancellation: Cancellation
) -> AskedQuestion:
    """Score the workspace's units with the drafter, for the question and for each of its sub-questions.

    The workspace has located the question (`Workspace.located`). A question about the code at the cursor is scored with
    that code and has no sub-questions. For any other question the cursor is ignored, because where it stands says
    nothing about the answer. Raises CancelledError.
    """
    question = about(question)
    arrays = keys.arrays, keys.offsets
    if question.code is not None:
        scores = drafter.score(*arrays, question.search_text, question.code, cancellation)
        return AskedQuestion(workspace, question, keys.by_unit(scores))
    texts = subquestions_of(question.text)
    scores, *of_each = drafter.score_each(*arrays, [question.search_text, *texts], cancellation)
    subquestions = (
        AskedQuestion(workspace, Question(text), keys.by_unit(own)) for text, own in zip(texts, of_each, strict=True)
    )
    return AskedQuestion(workspace, question, keys.by_unit(scores), tuple(subquestions))
