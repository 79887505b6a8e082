"""Questions about a history: the commits that shaped some lines, or that answer when something changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np

from winnow_engine.core import Cancellation, Folder, counted
from winnow_engine.errors import GitError, NotARepositoryError, PositionError, RevisionError
from winnow_engine.git.repository import open_repository
from winnow_engine.git.working_trees import is_repository
from winnow_engine.history.blame_chain import shaping_commits
from winnow_engine.history.commit_text import Past, cited_commits, shown_past
from winnow_engine.history.effects import FolderHistory, effect_on, terms_of
from winnow_engine.history.finding import FoundCommit, rank_commits
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.question import ABOUT_WHEN, WHEN, WHY, Change, CodeAtCursor, Cursor, Question

_MOST = 6
_NEAR = 1 / 3  # of the best score; commits below answer something else
_HEADING = (
    "Commits whose messages, paths or changed code fit the question, newest first. Lines that begin with - were "
    "removed by the commit, lines with + were added."
)
_NONE_FITS = "No commit's message, paths or changed code have a word of the question. These are the newest."
_CLONE_ENDS = "older commits may have made the lines: the clone ends here; `git fetch --unshallow` gets the rest"
_BIDDING = (
    "\nAnswer from these commits alone: say which of them answers the question, what it did, and on which day. "
    "Cite each commit by its id."
)


@dataclass(frozen=True)
class CommitMatches:
    """Commits that may answer, newest first, with their folder's history. They only are the newest if no word `fits`.

    `notices` are for the user.
    """

    commits: tuple[tuple[FoundCommit, FolderHistory], ...]
    fits: bool
    notices: tuple[str, ...]


def answering_commits(sources: Sources, question: str, cancellation: Cancellation, most: int = _MOST) -> CommitMatches:
    """The `most` commits that fit a question best, without those far from the best of them.

    Folders without a commit are left out. If none has one, the first folder's GitError is raised.
    """
    matches = list[tuple[FoundCommit, FolderHistory]]()
    notices = dict[str, None]()
    for history in _histories(sources, cancellation):
        ranked, said = rank_commits(history.repository, "" if question == ABOUT_WHEN else question, most)
        matches += [(one, history) for one in ranked]
        notices.update(dict.fromkeys(said))
    highest = max((one.score for one, _ in matches), default=0.0)
    near = [pair for pair in matches if pair[0].score >= highest * _NEAR]
    best = sorted(near, key=lambda pair: (-pair[0].score, pair[0].age))[:most]
    newest_first = sorted(best, key=lambda pair: pair[0].age)
    return CommitMatches(tuple(newest_first), highest > 0 or question == ABOUT_WHEN, tuple(notices))


def past_of(question: Question, sources: Sources, cancellation: Cancellation) -> Past:
    """The commits that answer a question, with what each did to what is asked about; see `answering_commits`."""
    found = answering_commits(sources, question.search_text, cancellation)
    terms = terms_of(question.search_text)
    effects = tuple(effect_on(history, one.commit, terms) for one, history in found.commits)
    heading = _HEADING if found.fits else _NONE_FITS
    return Past((heading,), effects, _BIDDING, found.notices)


def _histories(sources: Sources, cancellation: Cancellation) -> Iterator[FolderHistory]:
    failures: list[GitError] = []
    seen = set[Path]()
    for folder in sorted(sources.folders, key=lambda folder: folder.name):
        try:
            repository = open_repository(folder.root, cancellation)
            repository.commit("HEAD")
        except (NotARepositoryError, RevisionError) as error:
            failures.append(error)
            continue
        if repository.top not in seen:
            seen.add(repository.top)
            yield FolderHistory(repository, folder)
    if failures and not seen:
        raise failures[0]


def asked_past(question: Question, sources: Sources, workspace: Workspace, cancellation: Cancellation) -> Past | None:
    """The history that a question is about, None for none. Raises PositionError for *why* without a cursor."""
    if question.changes == WHEN:
        return past_of(question, sources, cancellation)
    return _past_at_cursor(question, sources, workspace, cancellation) if question.changes == WHY else None


def with_past(question: Question, past: Past | None, workspace: Workspace, count: Callable[[str], int]) -> Question:
    """The question with the history, which the target reads as it reads a change; `count` gives a text's tokens."""
    if past is None:
        return question
    change = Change(
        shown=shown_past(past, count),
        removed=(),
        code=question.code or CodeAtCursor("", ""),
        related=np.zeros(len(workspace.units), np.float32),
        commits=cited_commits(past),
        notices=past.notices,
    )
    return replace(question, change=change)


def _past_at_cursor(question: Question, sources: Sources, workspace: Workspace, cancellation: Cancellation) -> Past:
    if question.cursor is None:
        raise PositionError("asking why needs a place: name a line or lines, FILE:LINE or FILE:LINE-LINE")
    folder, path = _folder(sources, question.cursor.path)
    repository = open_repository(folder.root, cancellation)
    file = workspace.file(question.cursor.path)
    cursor = _widened(workspace, question.cursor)
    lines = range(cursor.start_line, cursor.end_line + 1)
    found, uncommitted = shaping_commits(repository, folder, path, file.data, lines)
    heading = (
        f"The history of {_place(cursor)}, newest commit first. Lines that begin with - were removed by the commit, "
        "lines with + were added."
    )
    not_yet = (f"In no commit yet: {counted(uncommitted, 'line')} of these.",) if uncommitted else ()
    cut = (_CLONE_ENDS,) if any(one.commit.id in repository.shallow for one in found) else ()
    bidding = "\nAnswer from the messages of these commits, and cite each by its id. Begin with: Commit {id}"
    return Past((heading, *not_yet, *cut), tuple(found), bidding, cut)


def _folder(sources: Sources, path: str) -> tuple[Folder, str]:
    """The folder that holds a file, or the submodule in it that does, and the file's path there."""
    for folder in sources.folders:
        relative = folder.relative(path)
        if relative is not None:
            inner = (one for one in PurePosixPath(relative).parents if one.name and is_repository(folder.root / one))
            top = str(next(inner, ""))
            within = Folder(folder.root / top, folder.workspace_path(top)) if top else folder
            return within, relative.removeprefix(f"{top}/")
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
