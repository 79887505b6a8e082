"""A unit that a commit changed → the callers and tests that the same commit had to change with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from winnow_engine.changes.units import ChangedUnit
from winnow_engine.core import Unit, UnitKind
from winnow_engine.git.repository import Repository
from winnow_engine.index.name_rules import is_test
from winnow_research.evaluation.cases import Gold
from winnow_research.evaluation.histories.folders import files_at
from winnow_research.evaluation.histories.small_commits import SmallCommit, all_commits, small_commits

_SOURCES = (UnitKind.FUNCTION, UnitKind.METHOD)
_SHORTEST_NAME = 4
_LARGEST_GOLD = 4000  # bytes


@dataclass(frozen=True)
class ImpactCase:
    """A repository before a commit, in which one unit is as the commit left it: lines of `path`, 1-based, inclusive.

    `data` is that file's content. `callers` and `tests` are what else the commit changed, where it stands in this
    state.
    """

    commit: str
    parent: str
    name: str
    path: str
    start_line: int
    end_line: int
    data: bytes
    callers: tuple[Gold, ...]
    tests: tuple[Gold, ...]

    @property
    def golds(self) -> tuple[Gold, ...]:
        """Callers and tests."""
        return self.callers + self.tests

    def files(self, repository: Repository) -> Mapping[str, bytes]:
        """The repository's files in this state, by path."""
        return files_at(repository, self.parent) | {self.path: self.data}


def impact_cases(repository: Repository, most: int) -> Iterator[ImpactCase]:
    """Up to `most` questions about a repository, from its newest commits, which share most of their files."""
    found = 0
    for small in small_commits(repository, all_commits(repository)):
        case = impact_case(small)
        if case is not None:
            found += 1
            yield case
        if found == most:
            return


def impact_case(small: SmallCommit) -> ImpactCase | None:
    """The question that a commit makes; None if it changed no function that others had to follow.

    The function whose name most of the other units use is what changed first. Golds are the units that use its name,
    and all others of tests.
    """
    sources = [unit for unit in small.units if _is_source(unit)]
    best = max(sources, key=lambda unit: len(_users(small, unit)), default=None)
    if best is None or not _users(small, best):
        return None
    return _case(small, best)


def _case(small: SmallCommit, source: ChangedUnit) -> ImpactCase:
    before = source.before
    assert before is not None
    lines = (source.file.before or b"").split(b"\n")
    data = b"\n".join([*lines[: before.start_line - 1], *_raw(source), *lines[before.end_line :]])
    grown = len(source.after_lines) - len(source.before_lines)
    callers = [unit for unit in _users(small, source) if not is_test(unit.file.path)]
    tests = [unit for unit in _followers(small, source) if is_test(unit.file.path)]
    golds = [tuple(_gold(unit, source, grown) for unit in some) for some in (callers, tests)]
    start = before.start_line
    return ImpactCase(
        small.commit.id,
        small.parent,
        source.name,
        source.file.before_path or source.file.path,
        start,
        start + len(source.after_lines) - 1,
        data,
        *golds,
    )


def _raw(source: ChangedUnit) -> list[bytes]:
    """The unit's new lines, with the line ends that its file had."""
    assert source.after is not None
    return (source.file.after or b"").split(b"\n")[source.after.start_line - 1 : source.after.end_line]


def _is_source(unit: ChangedUnit) -> bool:
    if unit.before is None or unit.after is None or is_test(unit.file.path):
        return False
    both = unit.before.kind in _SOURCES and unit.after.kind in _SOURCES
    return both and len(_simple(unit.before)) >= _SHORTEST_NAME


def _followers(small: SmallCommit, source: ChangedUnit) -> list[ChangedUnit]:
    """The other units that were there before, and are not too long to be shown."""
    return [unit for unit in small.units if unit is not source and unit.before and _size(unit.before) <= _LARGEST_GOLD]


def _users(small: SmallCommit, source: ChangedUnit) -> list[ChangedUnit]:
    """Those that use the changed unit's name, before the commit."""
    assert source.before is not None
    name = re.compile(rb"\b" + re.escape(_simple(source.before).encode()) + rb"\b")
    return [unit for unit in _followers(small, source) if name.search(b"\n".join(unit.before_lines))]


def _gold(unit: ChangedUnit, source: ChangedUnit, grown: int) -> Gold:
    """Where a unit stands once the source has changed."""
    assert unit.before is not None
    assert source.before is not None
    moved = grown if unit.file is source.file and unit.before.start_line > source.before.end_line else 0
    path = unit.file.before_path or unit.file.path
    return Gold(path, unit.before.start_line + moved, unit.before.end_line + moved)


def _simple(unit: Unit) -> str:
    return re.split(r"\.|::", unit.name)[-1]


def _size(unit: Unit) -> int:
    return unit.end_byte - unit.start_byte
