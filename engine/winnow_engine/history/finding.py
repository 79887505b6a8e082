"""The commits that answer when something changed, by their messages and by the names that they touched."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow_engine.git.objects import Commit, blobs, newest_commits, touching_commits
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import named_files
from winnow_engine.history.terms import Asked, asked_in
from winnow_engine.index.bm25 import LexicalIndex
from winnow_engine.index.lines import git_numbers
from winnow_engine.index.symbols import analyse

_MOST_FILES = 40  # with the name, that are parsed to find its definition
_MOST_PLACES = 8  # a name of more files or definitions says too little
_SHORTEST_TEXT = 3
_SEPARATOR = re.compile(r"::|[^\w$]+")


class NameSearch:
    """Searches the history of a commit for names, for so many seconds in all."""

    def __init__(self, repository: Repository, tip: str, seconds: float) -> None:
        self._repository, self._tip = repository, tip
        self._until = time.monotonic() + seconds
        self.complete = True
        """Whether no search was stopped before its end."""

    def commits(self, name: str, *, as_text: bool) -> set[str]:
        """The ids of the commits that touched a path, or a definition and its former lines; else that change a text."""
        parts = [part for part in _SEPARATOR.split(name) if part]
        searches = self._paths(name) or self._definitions(parts)
        if not searches and len(parts) > 1:
            searches = self._definitions(parts[-1:])
        if not searches and as_text and parts and len(parts[-1]) >= _SHORTEST_TEXT:
            searches = [(f"-S{parts[-1]}", "--")]
        return {one for search in searches for one in self._found(search)} if len(searches) <= _MOST_PLACES else set()

    def _found(self, search: tuple[str, ...]) -> list[str]:
        found, complete = touching_commits(self._repository, self._tip, search, self._seconds_left())
        self.complete &= complete
        return found

    def _paths(self, name: str) -> list[tuple[str, ...]]:
        if "." not in name and "/" not in name:
            return []
        paths = _fields(self._repository.git.run("ls-tree", "-r", "-z", "--name-only", self._tip))
        return [("--follow", "--", path) for path in paths if path == name or path.endswith(f"/{name}")]

    def _definitions(self, parts: list[str]) -> list[tuple[str, ...]]:
        """Searches for the lines of the units with this name, of which the classes or modules may be left out."""
        return [
            (f"-L{numbers[unit.start_line - 1]},{numbers[unit.end_line - 1]}:{path}",)
            for path, data in self._files_with(parts)
            if (numbers := git_numbers(data))
            for unit in analyse(path, data).units
            if _SEPARATOR.split(unit.name)[-len(parts) :] == parts
        ]

    def _files_with(self, words: list[str]) -> Iterator[tuple[str, bytes]]:
        """Files that contain all of some words, by their paths below the repository's folder, while there is time."""
        if not words:
            return
        git, prefix = self._repository.git, self._repository.prefix
        options = ("-l", "-z", "-w", "-F", "--all-match", *(part for word in words for part in ("-e", word)))
        left = self._seconds_left()
        output, complete = git.partial_output("grep", *options, self._tip, timeout_s=left, highest=1)  # 1: no match
        self.complete &= complete
        paths = [path.removeprefix(f"{self._tip}:") for path in _fields(output)][:_MOST_FILES]
        entries = named_files(self._repository, self._tip, [prefix + path for path in paths])
        contents = blobs(git, [one.blob for one in entries])
        for one in entries:
            git.cancellation.check()
            if not self._seconds_left():
                self.complete = False
                return
            if one.blob in contents:
                yield one.path.removeprefix(prefix), contents[one.blob]

    def _seconds_left(self) -> float:
        return max(self._until - time.monotonic(), 0.0)


def _fields(output: bytes) -> list[str]:
    return [line.decode("utf-8", "surrogateescape") for line in output.split(b"\0") if line]


MOST_COMMITS = 50_000  # number of commits searched, the newest; their messages take 0.7 s of a core for each 20,000
_MOST_NAMES = 3
_SEARCH_S = 3.0  # for all names
_TOUCHED = 1.2  # weight of a name that a commit touched, beside a word of its message
_MOST_CHARACTERS = 8_000  # of a message
_MERGE = 0.7  # weight of a merge, as the merged commits say the same


@dataclass(frozen=True, slots=True)
class FoundCommit:
    """A commit that may answer, with BM25 over its message and what it touched. `age` sorts the newest first."""

    commit: Commit
    score: float
    age: tuple[int, int]


def rank_commits(repository: Repository, question: str, most: int) -> tuple[list[FoundCommit], list[str]]:
    """The commits that answer a question best, best first, and notices for the user about the search.

    If no word fits, they are the newest, with a score of 0. Where a question only names code, those that touched it
    come first: the newest, or the oldest if it asks when something was added. Raises GitError, CancelledError.
    """
    tip = repository.commit("HEAD")
    logged = newest_commits(repository, tip, MOST_COMMITS)
    asked = asked_in(question)
    texts = (f"{one.author}\n{one.message[:_MOST_CHARACTERS]}" for one in logged)
    messages = LexicalIndex.of_texts(texts, asked.terms)
    scores = messages.score_stems(asked.terms)
    scores *= np.where([len(one.parents) > 1 for one in logged], np.float32(_MERGE), np.float32(1))
    search = NameSearch(repository, tip, _SEARCH_S)
    rows = {one.id: row for row, one in enumerate(logged) if one.id not in repository.shallow}
    _add_touching(scores, messages, rows, asked, search)
    order = np.argsort(-scores, kind="stable")[:most].tolist()
    found = [FoundCommit(logged[row], float(scores[row]), (-logged[row].committed_at, row)) for row in order]
    return found, list(_notices(logged, search))


def _add_touching(
    scores: NDArray[np.float32], messages: LexicalIndex, rows: Mapping[str, int], asked: Asked, search: NameSearch
) -> None:
    touched = set[int]()
    as_text = not asked.alone or not scores.any()
    for name in asked.code[:_MOST_NAMES]:
        found = [rows[one] for one in search.commits(name, as_text=as_text) if one in rows]
        scores[found] += _TOUCHED * messages.rarity(len(found))
        touched.update(found)
    if asked.only_code and touched:
        first_last = sorted(touched, reverse=not asked.added)
        scores[first_last] = max(scores.max(), 1.0) * (1 + np.arange(1, len(touched) + 1) / len(touched))


def _notices(logged: list[Commit], search: NameSearch) -> Iterator[str]:
    if len(logged) == MOST_COMMITS:
        yield f"only the newest {MOST_COMMITS:,} commits were searched"
    if not search.complete:
        yield "not every commit was searched for what it changed: older ones may be missing"
