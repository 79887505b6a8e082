"""The commits that answer when something changed, in all repositories of a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from winnow_engine.core import Cancellation
from winnow_engine.errors import GitError, NotARepositoryError, RevisionError
from winnow_engine.git.objects import Commit, commits
from winnow_engine.git.repository import open_repository
from winnow_engine.history.commit_text import Past
from winnow_engine.history.effects import FolderHistory
from winnow_engine.history.finding import FoundCommit, rank_commits
from winnow_engine.history.hunks import effect_on, terms_of
from winnow_engine.index.workspace import Sources
from winnow_engine.question import ABOUT_WHEN, Question

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
    """A commit that may answer, in the history of one folder."""

    found: FoundCommit
    commit: Commit
    history: FolderHistory


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
    matches = list[CommitMatch]()
    notices = dict[str, None]()
    for history in _histories(sources, cancellation):
        ranked, said = rank_commits(history.repository, "" if question == ABOUT_WHEN else question, most)
        read = commits(history.repository.git, [one.id for one in ranked])
        matches += [CommitMatch(*pair, history) for pair in zip(ranked, read, strict=True)]
        notices.update(dict.fromkeys(said))
    highest = max((one.found.score for one in matches), default=0.0)
    near = [one for one in matches if one.found.score >= highest * _NEAR]
    best = sorted(near, key=lambda one: (-one.found.score, one.found.age))[:most]
    newest_first = sorted(best, key=lambda one: one.found.age)
    return CommitMatches(tuple(newest_first), highest > 0 or question == ABOUT_WHEN, tuple(notices))


def past_of(question: Question, sources: Sources, cancellation: Cancellation) -> Past:
    """The commits that answer a question, with what each did to what is asked about; see `answering_commits`."""
    found = answering_commits(sources, question.search_text, cancellation)
    terms = terms_of(question.search_text)
    effects = tuple(effect_on(one.history, one.commit, terms) for one in found.commits)
    heading = _HEADING if found.fits else _NONE_FITS
    return Past("the history of this workspace", (heading,), effects, _BIDDING, found.notices)


def _histories(sources: Sources, cancellation: Cancellation) -> Iterator[FolderHistory]:
    """The histories of the folders, that of a repository once."""
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
