"""The commits that answer when something changed, in all repositories of a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from winnow_engine.core import Cancellation, Folder
from winnow_engine.errors import GitError, NotARepositoryError, RevisionError
from winnow_engine.git.log import lineage
from winnow_engine.git.objects import Commit, commits
from winnow_engine.git.repository import Repository, open_repository
from winnow_engine.history.blame_chain import Shaping
from winnow_engine.history.finding import FoundCommit, newest_commits, rank_commits
from winnow_engine.history.hunks import asked_of, shapings_of
from winnow_engine.history.past import Past
from winnow_engine.history.reading import PATIENCE_S, History, is_kept, read_history
from winnow_engine.index.workspace import Sources
from winnow_engine.question import ABOUT_WHEN, Question

_T = TypeVar("_T")

_MOST = 6
_NEAR = 1 / 3  # of the best score; what is below answers something else
_SLICE_S = 10.0
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
class Answering:
    """A commit that may answer, its score, and where it is: a repository, and the folder of the workspace within.

    `age` sorts the newest first.
    """

    commit: Commit
    score: float
    age: tuple[int, int]
    repository: Repository
    folder: Folder


@dataclass(frozen=True)
class Answers:
    """Commits that may answer, newest first. They only are the newest if no word `fits`. Show `notices` to the user."""

    commits: tuple[Answering, ...]
    fits: bool
    notices: tuple[str, ...]


def answering_commits(
    sources: Sources, question: str, kept: Path, cancellation: Cancellation, most: int = _MOST
) -> Answers:
    """The `most` commits that fit a question best, but none that is far from the best of them.

    Folders without a repository, or without a commit, are left out if others have one. Raises GitError, of the kind
    that the first folder gives, if none has; CancelledError.
    """
    found: list[tuple[FoundCommit, Repository, Folder]] = []
    newest: list[tuple[FoundCommit, Repository, Folder]] = []
    notices = list[str]()
    for repository, folder in _repositories(sources, cancellation):
        history = read_history(repository, kept, PATIENCE_S, older=False)
        if question != ABOUT_WHEN:
            found += [(one, repository, folder) for one in rank_commits(history, question, most)]
        newest += [(one, repository, folder) for one in newest_commits(history, most)]
        notices += _notices(history)
    best = sorted(found, key=lambda one: -one[0].score)[:most]
    near = [one for one in best if one[0].score >= best[0][0].score * _NEAR]
    chosen = sorted(near or newest, key=lambda one: one[0].age)[:most]
    read = sorted(_read(chosen), key=lambda one: one.age)
    return Answers(tuple(read), bool(near) or question == ABOUT_WHEN, tuple(dict.fromkeys(notices)))


def past_of(question: Question, sources: Sources, kept: Path, cancellation: Cancellation) -> Past:
    """The commits that answer a question, with what each did to what is asked about; see `answering_commits`."""
    found = answering_commits(sources, question.search_text, kept, cancellation)
    terms = asked_of(question.search_text)
    shaping = dict[str, Shaping]()
    for some in _grouped(found.commits, lambda one: one.folder.name):
        read = shapings_of(some[0].repository, some[0].folder, [one.commit for one in some], terms)
        shaping |= {one.commit.id: one for one in read}
    heading = _HEADING if found.fits else _NONE_FITS
    commits = tuple(shaping[one.commit.id] for one in found.commits)
    return Past("the history of this workspace", (heading,), commits, _BIDDING, found.notices)


def complete_histories(sources: Sources, kept: Path, cancellation: Cancellation) -> None:
    """Read what questions had no time for, in repositories that somebody has asked about. Raises CancelledError."""
    for folder in sources.folders:
        try:
            repository = open_repository(folder.root, cancellation)
            done = not is_kept(repository, kept)
            while not done:  # kept after each slice: a process may end at any time
                done = read_history(repository, kept, _SLICE_S).complete
        except GitError:  # no repository, or one that became unreadable: a question says why
            continue


def _repositories(sources: Sources, cancellation: Cancellation) -> Iterator[tuple[Repository, Folder]]:
    """The repositories of the folders, each once."""
    failures: list[GitError] = []
    seen = set[str]()
    for folder in sorted(sources.folders, key=lambda folder: folder.name):
        try:
            repository = open_repository(folder.root, cancellation)
            repository.commit("HEAD")
            identity = lineage(repository).identity
        except (NotARepositoryError, RevisionError) as error:
            failures.append(error)
            continue
        if identity not in seen:
            seen.add(identity)
            yield repository, folder
    if failures and not seen:
        raise failures[0]


def _read(chosen: Iterable[tuple[FoundCommit, Repository, Folder]]) -> Iterator[Answering]:
    """The commits themselves, those of a repository at once."""
    for some in _grouped(chosen, lambda one: one[2].name):
        _, repository, folder = some[0]
        for (found, *_), commit in zip(some, commits(repository.git, [one.id for one, *_ in some]), strict=True):
            yield Answering(commit, found.score, found.age, repository, folder)


def _grouped(found: Iterable[_T], folder: Callable[[_T], str]) -> Iterator[list[_T]]:
    """Those of each folder, by its name."""
    for _, same in groupby(sorted(found, key=folder), folder):
        yield list(same)


def _notices(history: History) -> Iterator[str]:
    """What was not searched."""
    if not history.complete:
        known, all_ = int((history.read & history.alive).sum()), int(history.alive.sum())
        yield (
            f"only the newest {known:,} of {all_:,} commits were searched for what they changed, the others for what "
            "they say: `winnow index` reads the rest"
        )
