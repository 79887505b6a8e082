"""A question why some lines are so, with what the rest of the engine needs to know of their history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from winnow_engine.changes.changed import ChangedFile
from winnow_engine.core import (
    WHY,
    Cancellation,
    Change,
    CodeAtCursor,
    Cursor,
    Folder,
    Question,
    ShownChange,
    ShownCommit,
)
from winnow_engine.errors import NotARepositoryError, PositionError
from winnow_engine.git.repository import open_repository
from winnow_engine.history.shaping import Shaping, shaping_commits
from winnow_engine.index.workspace import Sources, Workspace

_SHORT_ID = 10
# How many commits, lines of a message and changed lines of a commit are shown, at each length.
_LENGTHS = ((6, 30, 40), (6, 12, 16), (4, 6, 8), (3, 2, 0))
_MOST_OTHERS = 8


@dataclass(frozen=True)
class Past:
    """The commits that shaped the lines at a cursor, newest first, and how many of the lines are in no commit yet."""

    cursor: Cursor
    commits: tuple[Shaping, ...]
    uncommitted: int


def asked_past(question: Question, sources: Sources, workspace: Workspace, cancellation: Cancellation) -> Past | None:
    """The history of the code at the cursor; None if the question is not about that.

    The question is located. Raises PositionError without a cursor, GitError, RevisionError, CancelledError.
    """
    if question.changes != WHY:
        return None
    if question.cursor is None:
        raise PositionError("asking why needs a place: name a line or lines, FILE:LINE or FILE:LINE-LINE")
    folder, path = _folder(sources, question.cursor.path)
    repository = open_repository(folder.root, cancellation)
    file = workspace.files[workspace.file_number(question.cursor.path)]
    cursor = _widened(workspace, question.cursor)
    lines = range(cursor.start_line, cursor.end_line + 1)
    found, uncommitted = shaping_commits(repository, folder, path, file.data, lines)
    return Past(cursor, tuple(found), uncommitted)


def with_past(question: Question, past: Past | None, workspace: Workspace, count: Callable[[str], int]) -> Question:
    """The question with the history, which the target reads as it reads a change; `count` gives a text's tokens."""
    if past is None:
        return question
    change = Change(
        title=f"the history of {_place(past.cursor)}",
        commit="",
        shown=tuple(_shown(past, *length, count) for length in _LENGTHS),
        removed=(),
        code=question.code or CodeAtCursor("", ""),
        related=np.zeros(len(workspace.units), np.float32),
        commits=tuple(_cited(one) for one in past.commits),
    )
    return replace(question, change=change)


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


def _cited(one: Shaping) -> ShownCommit:
    return ShownCommit(one.commit.id, one.commit.message, one.path, one.lines[0], one.lines[-1])


def _shown(past: Past, commits: int, message: int, lines: int, count: Callable[[str], int]) -> ShownChange:
    shown = past.commits[:commits]
    text = "\n".join(_lines(past, shown, message, lines))
    return ShownChange(text, (), count(text), complete=True)


def _lines(past: Past, shown: Sequence[Shaping], message: int, lines: int) -> Iterator[str]:
    yield (
        f"The history of {_place(past.cursor)}, newest commit first. Lines that begin with - were removed by the "
        "commit, lines with + were added."
    )
    if past.uncommitted:
        yield f"{past.uncommitted} of the lines are in no commit yet."
    for one in shown:
        yield from _commit(one, message, lines)
    if len(shown) < len(past.commits):
        yield f"… {len(past.commits) - len(shown)} older commits"
    if shown:
        yield (
            "\nAnswer from the messages of these commits, and cite each by its id. Begin with: Commit "
            f"{shown[0].commit.id[:_SHORT_ID]}"
        )


def _commit(one: Shaping, message: int, lines: int) -> Iterator[str]:
    commit = one.commit
    day = datetime.fromtimestamp(max(commit.authored_at, 0), UTC).date().isoformat()
    yield f"\ncommit {commit.id[:_SHORT_ID]} ({day}, {commit.author}): {commit.subject}"
    body = commit.message.strip().splitlines()[1:]
    yield from (f"  {line}" for line in [line for line in body if line.strip()][: message - 1])
    if lines and one.file is not None:
        yield f"in {one.path}{f' (from {one.file.before_path})' if one.file.renamed else ''}:"
        yield from _difference(one.file, one.lines, lines)
    if one.others:
        more = f" and {len(one.others) - _MOST_OTHERS} more" if len(one.others) > _MOST_OTHERS else ""
        yield f"also in {', '.join(one.others[:_MOST_OTHERS])}{more}"


def _difference(file: ChangedFile, lines: Sequence[int], most: int) -> Iterator[str]:
    """The hunks that made the lines, `most` rows at most."""
    wanted, rows = set(lines), list[str]()
    for hunk in file.hunks:
        if wanted.intersection(hunk.after):
            rows += [f"-{_text(file.before_lines[line - 1])}" for line in hunk.before]
            rows += [f"+{_text(file.after_lines[line - 1])}" for line in hunk.after]
    yield from rows[:most]
    if len(rows) > most:
        yield f"… {len(rows) - most} more lines"


def _place(cursor: Cursor) -> str:
    end = f"-{cursor.end_line}" if cursor.end_line > cursor.start_line else ""
    return f"{cursor.path}:{cursor.start_line}{end}"


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")
