"""A question about a history, with what the rest of the engine needs to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from winnow_engine.core import Cancellation, Folder, counted
from winnow_engine.errors import NotARepositoryError, PositionError
from winnow_engine.git.repository import open_repository
from winnow_engine.history.answering import past_of
from winnow_engine.history.blame_chain import shaping_commits
from winnow_engine.history.commit_text import Past, cited_commits, shown_past
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.question import WHEN, WHY, Change, CodeAtCursor, Cursor, Question


def asked_past(question: Question, sources: Sources, workspace: Workspace, cancellation: Cancellation) -> Past | None:
    """The history that a question is about: that of the code at the cursor, or the commits that answer when.

    None if it is about neither. The question is located. Raises PositionError
    if it asks why and has no cursor, GitError, RevisionError, CancelledError.
    """
    if question.changes == WHEN:
        return past_of(question, sources, cancellation)
    return _past_at_cursor(question, sources, workspace, cancellation) if question.changes == WHY else None


def with_past(question: Question, past: Past | None, workspace: Workspace, count: Callable[[str], int]) -> Question:
    """The question with the history, which the target reads as it reads a change; `count` gives a text's tokens."""
    if past is None:
        return question
    change = Change(
        title=past.title,
        commit="",
        shown=shown_past(past, count),
        removed=(),
        code=question.code or CodeAtCursor("", ""),
        related=np.zeros(len(workspace.units), np.float32),
        commits=cited_commits(past),
        notices=past.notices,
    )
    return replace(question, change=change)


def _past_at_cursor(question: Question, sources: Sources, workspace: Workspace, cancellation: Cancellation) -> Past:
    """The commits that shaped the code at the cursor."""
    if question.cursor is None:
        raise PositionError("asking why needs a place: name a line or lines, FILE:LINE or FILE:LINE-LINE")
    folder, path = _folder(sources, question.cursor.path)
    repository = open_repository(folder.root, cancellation)
    file = workspace.files[workspace.file_number(question.cursor.path)]
    cursor = _widened(workspace, question.cursor)
    lines = range(cursor.start_line, cursor.end_line + 1)
    found, uncommitted = shaping_commits(repository, folder, path, file.data, lines)
    heading = (
        f"The history of {_place(cursor)}, newest commit first. Lines that begin with - were removed by the commit, "
        "lines with + were added."
    )
    not_yet = (f"In no commit yet: {counted(uncommitted, 'line')} of these.",) if uncommitted else ()
    bidding = "\nAnswer from the messages of these commits, and cite each by its id. Begin with: Commit {id}"
    return Past(f"the history of {_place(cursor)}", (heading, *not_yet), tuple(found), bidding)


def _folder(sources: Sources, path: str) -> tuple[Folder, str]:
    for folder in sources.folders:
        relative = folder.relative(path)
        if relative is not None:
            return folder, relative
    raise NotARepositoryError(f"{path} lies in no folder of the workspace")


def _widened(workspace: Workspace, cursor: Cursor) -> Cursor:
    """The selected lines, or for a single line the whole unit around it, as for any question about a cursor."""
    if cursor.start_line < cursor.end_line:
        return cursor
    _, unit = workspace.units[workspace.unit_at(cursor.path, cursor.start_line)]
    return Cursor(cursor.path, unit.start_line, unit.end_line)


def _place(cursor: Cursor) -> str:
    end = f"-{cursor.end_line}" if cursor.end_line > cursor.start_line else ""
    return f"{cursor.path}:{cursor.start_line}{end}"
