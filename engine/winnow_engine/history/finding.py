"""The commits that answer when something changed, by what their messages say and by what they touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow_engine.git.log import Logged, newest_commits
from winnow_engine.git.repository import Repository
from winnow_engine.history.names import NameSearch
from winnow_engine.history.question_terms import Asked, asked_in
from winnow_engine.history.terms import rarity, score_messages

MOST_COMMITS = 50_000
"""Number of commits searched, the newest; their messages take 0.7 s of a core for each 20,000."""
_MOST_NAMES = 3
_SEARCH_S = 3.0  # for all names
_TOUCHED = 1.2  # weight of a name that a commit touched, beside a word of its message
_MERGE = 0.7  # weight of a merge, as the merged commits say the same


@dataclass(frozen=True, slots=True)
class FoundCommit:
    """A commit that may answer. `score` is a sum of BM25 over its message and what it touched, 0 if no word fits.

    `age` sorts the newest first, also commits of the same second.
    """

    id: str
    score: float
    age: tuple[int, int]


def rank_commits(repository: Repository, question: str, most: int) -> tuple[list[FoundCommit], list[str]]:
    """The commits that answer a question best, best first, and notices for the user about the search.

    If no word fits, they are the newest, with a score of 0. Where a question only names code, those that touched it
    come first, the newest first, or the oldest if it asks when something was added. Raises RevisionError before the
    first commit, GitError, CancelledError.
    """
    tip = repository.commit("HEAD")
    logged = newest_commits(repository, tip, MOST_COMMITS)
    asked = asked_in(question)
    scores = score_messages([f"{one.author}\n{one.message}" for one in logged], asked.terms)
    scores *= np.where([one.parents > 1 for one in logged], np.float32(_MERGE), np.float32(1))
    search = NameSearch(repository, tip, _SEARCH_S)
    _add_touching(scores, logged, asked, search, shallow=repository.shallow)
    order = np.argsort(-scores, kind="stable")[:most].tolist()
    found = [FoundCommit(logged[row].id, float(scores[row]), (-logged[row].committed_at, row)) for row in order]
    return found, list(_notices(logged, search))


def _add_touching(
    scores: NDArray[np.float32], logged: list[Logged], asked: Asked, search: NameSearch, *, shallow: bool
) -> None:
    """Raise the scores of the commits that touched what a question names."""
    rows = {one.id: row for row, one in enumerate(logged) if one.parents or not shallow}
    touched = set[int]()
    as_text = not asked.alone or not scores.any()
    for name in asked.code[:_MOST_NAMES]:
        found = [rows[one] for one in search.commits(name, as_text=as_text) if one in rows]
        scores[found] += _TOUCHED * rarity(len(found), len(logged))
        touched.update(found)
    if asked.only_code and touched:
        first_last = sorted(touched, reverse=not asked.added)
        scores[first_last] = max(scores.max(), 1.0) * (1 + np.arange(1, len(touched) + 1) / len(touched))


def _notices(logged: list[Logged], search: NameSearch) -> Iterator[str]:
    if len(logged) == MOST_COMMITS:
        yield f"only the newest {MOST_COMMITS:,} commits were searched"
    if not search.complete:
        yield "not every commit was searched for what it changed: older ones may be missing"
