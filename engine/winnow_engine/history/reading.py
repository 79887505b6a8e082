"""Brings what is known of a history up to date: only commits that are new are read."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow_engine.errors import CancelledError, GitError
from winnow_engine.git.log import ancestry, lineage, logged, patches
from winnow_engine.git.program import Git
from winnow_engine.git.repository import Repository
from winnow_engine.history.definitions import ChangedNames, changed_names
from winnow_engine.history.kept import KeptHistory
from winnow_engine.history.table import Building, HistoryTable

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_MOST_COMMITS = 500_000  # the newest; 0.4 KB each
_COMMITS_AT_ONCE, _PATCHES_AT_ONCE = 4000, 250
_PROCESSES = 2
_MOST_PATHS = 1000  # of a commit with more, as when files are imported, no names are read
PATIENCE_S = 4.0
"""How long a question may read names, in seconds since it was asked."""


class History:
    """The commits that a revision has in its past, as far as they are kept.

    `tables` continue one another; `alive`, bool [N], are the commits of this past among all in the tables.
    """

    def __init__(self, tables: Sequence[HistoryTable], tip: str) -> None:
        self.tables = tuple(tables)
        self.ids = [one for table in tables for one in table.ids]
        self.alive = _reachable(tables, self.ids.index(tip))

    @property
    def named(self) -> NDArray[np.bool_]:
        """Of which commits the names they changed are known, bool [N]."""
        return np.concatenate([table.arrays["named"] for table in self.tables]).astype(bool)

    @property
    def complete(self) -> bool:
        """Whether they are known of all commits of this past."""
        return bool(self.named[self.alive].all())


def read_history(repository: Repository, folder: Path, patience_s: float = math.inf, *, older: bool = True) -> History:
    """The history of what is checked out, kept in a folder.

    Messages, authors and paths are read of all commits that are new. Names of changed units are read until `patience_s`
    seconds after the call, of the newest commits first; unless also of `older` ones, only of those that are new. Raises
    RevisionError before the first commit, GitError, CancelledError.
    """
    until = time.monotonic() + patience_s
    tip = repository.commit("HEAD")
    found = lineage(repository)
    kept = KeptHistory(folder, found)
    tables = kept.load()
    before = len(tables[0]) if tables else 0
    new = _new_commits(repository.git, tip, tables, found.ends)
    tables += [new] if new is not None else []
    history = History(tables, tip)
    newest = new.first if new is not None else len(history.ids)
    tables, named = _with_names(repository.git, history, found.ends, 0 if older else newest, until)
    if new is not None or named:
        changed = not before or any(row < before for row in named)
        history = History(kept.save(tables, first_changed=changed), tip)
    return history


def is_kept(repository: Repository, folder: Path) -> bool:
    """Whether something of a repository's history was kept: somebody has asked about it."""
    return KeptHistory(folder, lineage(repository)).exists


def _new_commits(git: Git, tip: str, tables: Sequence[HistoryTable], ends: frozenset[str]) -> HistoryTable | None:
    """A table of the commits that the others lack; None if there is none."""
    numbers = {name: table.first + at for table in tables for at, name in enumerate(table.ids)}
    if tip in numbers:
        return None
    found = ancestry(git, tip, _heads(tables), _MOST_COMMITS)
    lineages = [(name, parents) for name, parents in found if name not in numbers]
    building = Building(len(numbers), numbers, lineages)
    for commits in _read_ahead(
        lambda ids: list(logged(git, ids, ends)), [name for name, _ in lineages], _COMMITS_AT_ONCE
    ):
        building.add(commits)
    return building.table()


def _heads(tables: Sequence[HistoryTable]) -> list[str]:
    """The commits that are nobody's parents: all others are in their past."""
    if not tables:
        return []
    ids = [one for table in tables for one in table.ids]
    parents = np.concatenate([table.arrays["parents"] for table in tables])
    return [ids[number] for number in np.setdiff1d(np.arange(len(ids)), parents).tolist()]


def _with_names(
    git: Git, history: History, ends: frozenset[str], since: int, until: float
) -> tuple[list[HistoryTable], list[int]]:
    """The tables with names of more commits from number `since` on, newest first, and the numbers of these commits."""
    paths = np.concatenate([table.arrays["paths"] for table in history.tables])
    pending = since + np.flatnonzero((history.alive & ~history.named)[since:])[::-1]
    readable = [row for row in pending.tolist() if 0 < paths[row] <= _MOST_PATHS and history.ids[row] not in ends]
    found = dict.fromkeys(set(pending.tolist()) - set(readable), ChangedNames())
    ids = [history.ids[row] for row in readable]
    for number, names in enumerate(_read_ahead(partial(_names, git), ids, _PATCHES_AT_ONCE)):
        rows = readable[number * _PATCHES_AT_ONCE :][: len(names)]
        found.update(zip(rows, names, strict=True))
        if time.monotonic() > until:
            break
    return [_of_table(table, found) for table in history.tables], list(found)


def _of_table(table: HistoryTable, found: dict[int, ChangedNames]) -> HistoryTable:
    rows = [row for row in found if table.first <= row < table.first + len(table)]
    return table.with_names(np.array(rows, np.int64) - table.first, [found[row] for row in rows]) if rows else table


def _names(git: Git, ids: Sequence[str]) -> list[ChangedNames]:
    """The names that commits changed; none if git cannot say, as in a clone without the files' contents."""
    try:
        found = dict(changed_names(patches(git, ids)))
    except CancelledError:
        raise
    except GitError as error:
        _log.warning("the names that %d commits changed are not known: %s", len(ids), error)
        found = {}
    return [found.get(one, ChangedNames()) for one in ids]


def _reachable(tables: Sequence[HistoryTable], tip: int) -> NDArray[np.bool_]:
    """Which commits are in the past of one, that one too, bool [N]."""
    parents = [one for table in tables for one in table.parents]
    alive = bytearray(len(parents))
    alive[tip] = 1
    for number in range(tip, -1, -1):
        if alive[number]:
            for parent in parents[number]:
                alive[parent] = 1
    return np.frombuffer(alive, np.uint8).astype(bool)


def _read_ahead(read: Callable[[Sequence[str]], _T], ids: Sequence[str], at_once: int) -> Iterator[_T]:
    """What is read of so many commits at once, in order, by several processes of git."""
    chunks = deque(ids[at : at + at_once] for at in range(0, len(ids), at_once))
    with ThreadPoolExecutor(_PROCESSES) as pool:
        running: deque[Future[_T]] = deque()
        try:
            while chunks or running:
                while chunks and len(running) < _PROCESSES + 1:
                    running.append(pool.submit(read, chunks.popleft()))
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()
