"""A commit's subject, half of its words, or the name of what it changed last → that commit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle

from winnow_engine.changes.units import ChangedUnit
from winnow_engine.core import UnitKind
from winnow_engine.errors import GitError
from winnow_engine.git.objects import Commit
from winnow_engine.git.repository import Repository
from winnow_engine.index.name_rules import is_test
from winnow_engine.index.symbols import analyse
from winnow_research.evaluation.histories.finders import Finders
from winnow_research.evaluation.histories.small_commits import SmallCommit, by_chance, small_commits

SUBJECT, HALF, NAME = "subject", "half of the subject", "name"
_MARKS = re.compile(r"^\w+(?:\([^)]*\))?!?:\s+|\s*\(?#\d+\)?|\b(?:fix(?:es)?|closes?)\s+#\d+|[.!]+$", re.IGNORECASE)
_LEAST_WORDS, _SHORTEST_NAME = 5, 5


@dataclass(frozen=True, slots=True)
class WhenCase:
    """A question with the words that somebody would search for, and the commit that answers it."""

    kind: str
    question: str
    words: tuple[str, ...]
    commit: str


def when_cases(finders: Finders, most: int, seed: int) -> Iterator[WhenCase]:
    """Up to `most` questions about a repository, of each kind in turn, one a commit, in random order."""
    subjects = [subject_of(commit) for commit in finders.commits]
    found, kinds = 0, cycle((SUBJECT, HALF, NAME))
    kind = next(kinds)
    for small in small_commits(finders.repository, by_chance(finders.commits, seed)):
        case = _about_a_name(finders, small) if kind == NAME else _about_words(small, kind, subjects)
        if case is not None:
            found, kind = found + 1, next(kinds)
            yield case
        if found == most:
            return


def subject_of(commit: Commit) -> str:
    """A message's first line without its type, numbers of issues and full stop."""
    return " ".join(_MARKS.sub(" ", commit.subject).split())


def _about_words(small: SmallCommit, kind: str, subjects: Iterable[str]) -> WhenCase | None:
    """The question by what the subject says, or every second word of it; None if it is short or said twice."""
    subject = subject_of(small.commit)
    words = subject.split()
    if len(words) < _LEAST_WORDS or sum(other == subject for other in subjects) > 1:
        return None
    kept = words[::2] if kind == HALF else words
    return WhenCase(kind, f"When did this happen: {' '.join(kept)}?", tuple(kept), small.commit.id)


def _about_a_name(finders: Finders, small: SmallCommit) -> WhenCase | None:
    name = last_change(finders, small)
    words = (re.split(r"\.|::", name)[-1],)
    return WhenCase(NAME, f"When was {name} changed last?", words, small.commit.id) if name else None


def last_change(finders: Finders, small: SmallCommit) -> str:
    """The name of a function that no commit has changed since; "" if there is none."""
    names = ((_name(unit), unit) for unit in small.units)
    return next((name for name, unit in names if name and _last_change(finders, unit) == small.commit.id), "")


def _name(unit: ChangedUnit) -> str:
    if unit.after is None or unit.after.kind not in (UnitKind.FUNCTION, UnitKind.METHOD) or is_test(unit.file.path):
        return ""
    return unit.name if len(re.split(r"\.|::", unit.name)[-1]) >= _SHORTEST_NAME else ""


def _last_change(finders: Finders, unit: ChangedUnit) -> str:
    """The commit that changed the lines of a unit of today last, by `git log -L`; "" if it is not there once."""
    path = unit.file.path
    try:
        units = [one for one in analyse(path, finders.content(path)).units if one.name == unit.name]
        if len(units) != 1:
            return ""
        lines = f"-L{units[0].start_line},{units[0].end_line}:{path}"
        return _log(finders.repository, lines)
    except GitError:  # the file is gone
        return ""


def _log(repository: Repository, lines: str) -> str:
    output = repository.git.run("log", "-1", "-s", "--format=%H", lines, "HEAD", timeout_s=300.0)
    return output.decode("ascii").strip()
