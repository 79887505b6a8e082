"""Brings what is known of a history up to date: only commits that are new are read."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow_engine.errors import CancelledError, GitError
from winnow_engine.git.log import ancestry, lineage, logged, patches, touched_paths
from winnow_engine.git.program import Git
from winnow_engine.git.repository import Repository
from winnow_engine.history.definitions import ChangedNames, changed_names
from winnow_engine.history.history_cache import KeptHistory
from winnow_engine.history.table import Building, HistoryTable, Touched
from winnow_engine.history.terms import Int64

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_MOST_COMMITS = 500_000  # the newest; 0.4 KB each
_COMMITS_AT_ONCE, _PATCHES_AT_ONCE = 4000, 250
_PROCESSES = 2
_MOST_PATHS = 1000  # of a commit with more, as when files are imported, no names are read
PATIENCE_S = 3.0
"""How long a question may read what commits touched, in seconds since it was asked."""


class History:
    """The commits that a revision has in its past, as far as they are kept.

    `tables` continue one another; `alive`, bool [N], are the commits of this past among all in the tables.
    """

    def __init__(self, tables: Sequence[HistoryTable], tip: str) -> None:
        self.tables = tuple(tables)
        number = number_of(tables, tip)
        assert number is not None, tip
        self.alive = _reachable(tables, number)

    @cached_property
    def ids(self) -> list[str]:
        """The commits' object ids."""
        return _ids(self.tables)

    def id_of(self, number: int) -> str:
        """The object id of a commit."""
        return next(table for table in reversed(self.tables) if table.first <= number).id_of(number)

    @property
    def read(self) -> NDArray[np.bool_]:
        """Of which commits it is known what they touched, bool [N]."""
        return np.concatenate([table.arrays["read"] for table in self.tables]).astype(bool)

    @property
    def complete(self) -> bool:
        """Whether that is known of all commits of this past."""
        return bool(self.read[self.alive].all())


def read_history(repository: Repository, folder: Path, patience_s: float = math.inf, *, older: bool = True) -> History:
    """The history of what is checked out, kept in a folder.

    Messages and authors are read of all commits that are new. What they touched, paths and names of units, is read
    until `patience_s` seconds after the call, of the newest commits first; unless also of `older` ones, only of those
    that are new. Raises RevisionError before the first commit, GitError, CancelledError.
    """
    until = time.monotonic() + patience_s
    tip = repository.commit("HEAD")
    found = lineage(repository)
    kept = KeptHistory(folder, found)
    tables = kept.load()
    before = len(tables[0]) if tables else 0
    new = _new_commits(repository.git, tip, tables)
    tables += [new] if new is not None else []
    history = History(tables, tip)
    newest = new.first if new is not None else len(history.alive)
    tables, read = _with_touched(repository.git, history, found.ends, 0 if older else newest, until)
    if new is not None or read:
        changed = not before or any(row < before for row in read)
        history = History(kept.save(tables, first_changed=changed), tip)
    return history


def is_kept(repository: Repository, folder: Path) -> bool:
    """Whether something of a repository's history was kept: somebody has asked about it."""
    return KeptHistory(folder, lineage(repository)).exists


def number_of(tables: Sequence[HistoryTable], commit: str) -> int | None:
    """The number of a commit; None if no table has it."""
    return next((number for table in tables if (number := table.number_of(commit)) is not None), None)


def _new_commits(git: Git, tip: str, tables: Sequence[HistoryTable]) -> HistoryTable | None:
    """A table of the commits that the others lack; None if there is none."""
    if number_of(tables, tip) is not None:
        return None
    known = _ids(tables)
    numbers = {name: number for number, name in enumerate(known)}
    heads = [known[number] for number in _childless(tables).tolist()]  # all others are in their past
    found = ancestry(git, tip, heads, _MOST_COMMITS)
    lineages = [(name, parents) for name, parents in found if name not in numbers]
    building = Building(len(numbers), numbers, lineages)
    ids = [name for name, _ in lineages]
    for commits in _read_ahead(lambda some: list(logged(git, some)), ids, _COMMITS_AT_ONCE):
        building.add(commits)
    return building.table()


def _ids(tables: Iterable[HistoryTable]) -> list[str]:
    """The object ids of the commits of all tables, by number."""
    return [one for table in tables for one in table.ids]


def _childless(tables: Sequence[HistoryTable]) -> Int64:
    """The numbers of the commits that are nobody's parents."""
    parents = np.concatenate([np.empty(0, np.int64), *(table.arrays["parents"] for table in tables)])
    return np.flatnonzero(np.bincount(parents, minlength=sum(map(len, tables))) == 0)


def _with_touched(
    git: Git, history: History, ends: frozenset[str], since: int, until: float
) -> tuple[list[HistoryTable], list[int]]:
    """The tables with what more commits touched, from number `since` on, newest first; and the numbers of these."""
    pending = since + np.flatnonzero((history.alive & ~history.read)[since:])[::-1]
    found: dict[int, Touched] = {}
    ids = [history.ids[row] for row in pending.tolist()]
    for touched in _read_ahead(partial(_touched, git, ends), ids, _PATCHES_AT_ONCE):
        found.update(zip(pending[len(found) :].tolist(), touched, strict=False))
        if time.monotonic() > until:
            break
    return [_of_table(table, found) for table in history.tables], list(found)


def _of_table(table: HistoryTable, found: dict[int, Touched]) -> HistoryTable:
    rows = [row for row in found if table.first <= row < table.first + len(table)]
    return table.with_touched(np.array(rows, np.int64) - table.first, [found[row] for row in rows]) if rows else table


def _touched(git: Git, ends: frozenset[str], ids: Sequence[str]) -> list[Touched]:
    """What commits touched; nothing where git cannot say, as in a clone without files, or where such a one ends."""
    paths: dict[str, tuple[str, ...]] = {}
    names: dict[str, ChangedNames] = {}
    try:
        paths = touched_paths(git, [one for one in ids if one not in ends])
        small = [one for one in paths if 0 < len(paths[one]) <= _MOST_PATHS]
        names = dict(changed_names(patches(git, small)))
    except CancelledError:
        raise
    except GitError as error:
        _log.warning("not all is known of what %d commits touched: %s", len(ids), error)
    return [Touched(paths.get(one, ()), names.get(one, ChangedNames())) for one in ids]


def _reachable(tables: Sequence[HistoryTable], tip: int) -> NDArray[np.bool_]:
    """Which commits are in the past of one, that one too, bool [N]."""
    if _childless(tables).tolist() == [tip]:
        return np.ones(sum(map(len, tables)), bool)
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
