"""A question about a workspace, put together with the code it is about and what the drafter says of every unit."""

from __future__ import annotations

from dataclasses import replace

from winnow_engine.core import Cancellation, Question
from winnow_engine.drafter.drafter import CodeAtCursor, Drafter
from winnow_engine.index.languages import for_path
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.features import Asked
from winnow_engine.selection.keys import WorkspaceKeys
from winnow_engine.selection.subquestions import parts


def asked_of(
    workspace: Workspace, keys: WorkspaceKeys, drafter: Drafter, question: Question, cancellation: Cancellation
) -> Asked:
    """Have the drafter score the workspace's units against the question, and against the code it is about or its parts.

    A cursor that the question is not about says nothing of what answers it. Raises PositionError if the cursor is
    nowhere in the workspace, CancelledError.
    """
    if not question.is_about_cursor:
        question = replace(question, cursor=None)
    code = code_at_cursor(workspace, question)
    whole = drafter.score(keys.arrays, keys.offsets, question.search_text, code, cancellation)
    if code is not None:
        return Asked(workspace, question, code.text, whole)
    texts = parts(question.text)
    scores = drafter.score_each(keys.arrays, keys.offsets, texts, cancellation)
    of_parts = (Asked(workspace, Question(text), "", said) for text, said in zip(texts, scores, strict=True))
    return Asked(workspace, question, "", whole, tuple(of_parts))


def code_at_cursor(workspace: Workspace, question: Question) -> CodeAtCursor | None:
    """The code the question is about, as the drafter wants it; None without a cursor. Raises PositionError."""
    if question.cursor is None:
        return None
    language = for_path(question.cursor.path)
    return CodeAtCursor(workspace.selected_text(question.cursor), language.name if language else "")
