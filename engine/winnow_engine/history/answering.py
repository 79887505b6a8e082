"""The commits that answer when something changed, in all repositories of a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from winnow_engine.core import Cancellation, Folder
from winnow_engine.errors import GitError, NotARepositoryError, RevisionError
from winnow_engine.git.objects import Commit, commits
from winnow_engine.git.repository import Repository, open_repository
from winnow_engine.history.blame_chain import Shaping
from winnow_engine.history.finding import FoundCommit, rank_commits
from winnow_engine.history.hunks import asked_of, shapings_of
from winnow_engine.history.past import Past
from winnow_engine.index.workspace import Sources
from winnow_engine.question import ABOUT_WHEN, Question

_T = TypeVar("_T")

_MOST = 6
_NEAR = 1 / 3  # of the best score; commits below answer something else
_HEADING = (
    "Commits whose messages, paths or changed code fit the question, newest first. Lines that begin with - were "
    "removed by the commit, lines with + were added."
)
_NONE_FITS = "No commit's message, paths or changed code have a word of the question. These are the newest."
_BIDDING = (
    "\nAnswer from these commits alone: say which of them answers the question, what it did, and on which day. "
    "Cite each commit by its id."
)


@dataclass(frozen=True)
class CommitMatch:
    """A commit that may answer, in a repository and the folder of the workspace within it."""

    found: FoundCommit
    commit: Commit
    repository: Repository
    folder: Folder


@dataclass(frozen=True)
class CommitMatches:
    """Commits that may answer, newest first. They only are the newest if no word `fits`. Show `notices` to the user."""

    commits: tuple[CommitMatch, ...]
    fits: bool
    notices: tuple[str, ...]


def answering_commits(sources: Sources, question: str, cancellation: Cancellation, most: int = _MOST) -> CommitMatches:
    """The `most` commits that fit a question best, without those far from the best of them.

    Folders without a repository, or without a commit, are left out if others have one. Raises GitError, of the kind
    that the first folder gives, if none has; CancelledError.
    """
    found: list[tuple[FoundCommit, Repository, Folder]] = []
    notices = dict[str, None]()
    for repository, folder in _repositories(sources, cancellation):
        ranked = rank_commits(repository, "" if question == ABOUT_WHEN else question, most)
        found += [(one, repository, folder) for one in ranked.commits]
        notices.update(dict.fromkeys(ranked.notices))
    highest = max((one.score for one, *_ in found), default=0.0)
    near = sorted((one for one in found if one[0].score >= highest * _NEAR), key=lambda one: -one[0].score)
    chosen = near[:most] if highest else sorted(found, key=lambda one: one[0].age)[:most]
    read = sorted(_read(chosen), key=lambda one: one.found.age)
    return CommitMatches(tuple(read), highest > 0 or question == ABOUT_WHEN, tuple(notices))


def past_of(question: Question, sources: Sources, cancellation: Cancellation) -> Past:
    """The commits that answer a question, with what each did to what is asked about; see `answering_commits`."""
    found = answering_commits(sources, question.search_text, cancellation)
    terms = asked_of(question.search_text)
    shaping = dict[str, Shaping]()
    for some in _grouped(found.commits, lambda one: one.folder.name):
        read = shapings_of(some[0].repository, some[0].folder, [one.commit for one in some], terms)
        shaping |= {one.commit.id: one for one in read}
    heading = _HEADING if found.fits else _NONE_FITS
    commits = tuple(shaping[one.commit.id] for one in found.commits)
    return Past("the history of this workspace", (heading,), commits, _BIDDING, found.notices)


def _repositories(sources: Sources, cancellation: Cancellation) -> Iterator[tuple[Repository, Folder]]:
    """The repositories of the folders, each once."""
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
            yield repository, folder
    if failures and not seen:
        raise failures[0]


def _read(chosen: Iterable[tuple[FoundCommit, Repository, Folder]]) -> Iterator[CommitMatch]:
    """The commits themselves, those of a repository at once."""
    for some in _grouped(chosen, lambda one: one[2].name):
        _, repository, folder = some[0]
        for (found, *_), commit in zip(some, commits(repository.git, [one.id for one, *_ in some]), strict=True):
            yield CommitMatch(found, commit, repository, folder)


def _grouped(found: Iterable[_T], folder: Callable[[_T], str]) -> Iterator[list[_T]]:
    """Those of each folder, by its name."""
    for _, same in groupby(sorted(found, key=folder), folder):
        yield list(same)
