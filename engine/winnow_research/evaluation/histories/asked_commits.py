"""What has to change for this? A commit's message → the units that it changed, where they stand in a later state.

Units are found there by path and name, so that no tree is checked out: what was renamed or removed since is not asked
about, nor is a commit with a unit that is not found. A path may be that of an archive, which lacks folders above it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

from winnow_engine.changes.units import ChangedUnit
from winnow_engine.git.objects import Commit
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import FileChange
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.languages import for_path
from winnow_research.evaluation.haystack import Place, is_test_path
from winnow_research.evaluation.histories.small_commits import (
    MOST_FILES,
    PROSE,
    SmallCommit,
    commit_changes,
    gives_a_reason,
)

QUESTION = "What has to change for this: {text}"
_MOST_UNITS, _LARGEST_BYTES = 4, 4000
_LEAST_WORDS, _MOST_BODY_WORDS = 4, 60
_AT_ONCE = 500  # commits whose files are looked up by one process
_REFERENCE = re.compile(
    r"\s*\(?(?:gh-?|(?:fix(?:es|ed)?|clos(?:es|ed)?):?\s+|see )?#\d+\)?|https?://\S+", re.IGNORECASE
)
_KIND = re.compile(
    r"^(?:fix|feat|chore|refactor|perf|unix|win|windows|linux|test|docs?|build|src|core)(?:\([^)]*\))?!?:\s*",
    re.IGNORECASE,
)
_TRAILER = re.compile(r"(?:[A-Z][\w-]+: |[-*]|PR-URL|Co-authored|Signed-off)")


@dataclass(frozen=True)
class AskedCommit:
    """A commit's message without references, and the units that it changed."""

    commit: str
    text: str
    golds: tuple[Place, ...]


def asked_commits(found: Iterable[SmallCommit], files: Iterable[IndexedFile]) -> Iterator[AskedCommit]:
    """Those of some commits that changed code outside tests, all of which stands in `files`. No text comes twice."""
    known, seen = _ByEnd(files), set[str]()
    for small in found:
        units = [unit for unit in small.units if unit.before is not None and not is_test_path(unit.file.path)]
        golds = known.places(units) if 1 <= len(units) <= _MOST_UNITS else []
        text = text_of(small.commit.message)
        if golds and text not in seen and len(text.split()) >= _LEAST_WORDS:
            seen.add(text)
            yield AskedCommit(small.commit.id, text, tuple(golds))


def text_of(message: str) -> str:
    """A message's subject and first paragraph, without issues, links, trailers and a prefix such as "fix(parser): "."""
    subject, _, body = message.strip().partition("\n")
    subject = _KIND.sub("", _REFERENCE.sub("", subject).strip())
    lines = [line for line in body.strip().split("\n\n")[0].splitlines() if not _TRAILER.match(line.strip())]
    words = " ".join(_REFERENCE.sub("", line) for line in lines).split()[:_MOST_BODY_WORDS]
    return f"{subject.rstrip('.')}. {' '.join(words).rstrip('.')}." if words else subject


def worth_reading(repository: Repository, found: Iterable[Commit], files: Iterable[IndexedFile]) -> Iterator[Commit]:
    """The commits that `asked_commits` can ask about, by their messages and the paths that they changed alone.

    Each file of code outside tests that a commit changed is among `files`, and there is one.
    """
    known = _ByEnd(files)
    for some in _batches(one for one in found if len(one.parents) == 1 and gives_a_reason(one.subject)):
        changes = commit_changes(repository, [one.id for one in some])
        yield from (one for one in some if known.hold(changes.get(one.id, [])))


def _batches(found: Iterable[Commit]) -> Iterator[list[Commit]]:
    left = iter(found)
    while some := list(islice(left, _AT_ONCE)):
        yield some


class _ByEnd:
    """Files by the end of their path."""

    def __init__(self, files: Iterable[IndexedFile]) -> None:
        self._files: dict[str, list[IndexedFile]] = defaultdict(list)
        for file in files:
            self._files[PurePosixPath(file.path).name].append(file)

    def hold(self, changes: Sequence[FileChange]) -> bool:
        """Whether all files of code outside tests that some changes had found are known, and at least one is."""
        code = [one.before for one in changes if one.before and one.regular and _is_code(one.before)]
        return len(changes) <= MOST_FILES and bool(code) and all(len(self._at(path)) == 1 for path in code)

    def _at(self, path: str) -> list[IndexedFile]:
        return [file for file in self._files.get(PurePosixPath(path).name, ()) if _same(file.path, path)]

    def places(self, units: Sequence[ChangedUnit]) -> list[Place]:
        """Where these units stand, in order; empty unless each stands in one place."""
        found = [self._place(unit) for unit in units]
        return sorted({(p.file.path, p.number): p for p in found if p}.values(), key=_order) if all(found) else []

    def _place(self, unit: ChangedUnit) -> Place | None:
        assert unit.before is not None
        files = self._at(unit.file.path)
        numbers = [
            number
            for number, one in enumerate(files[0].units if len(files) == 1 else ())
            if one.name and (one.kind, one.name) == (unit.before.kind, unit.before.name)
        ]
        if len(numbers) != 1:
            return None
        place = Place(files[0], numbers[0])
        return place if place.unit.end_byte - place.unit.start_byte <= _LARGEST_BYTES else None


def _is_code(path: str) -> bool:
    """Whether a file has units of code, by its path, and is no test."""
    language = for_path(path)
    return language is not None and language.name not in PROSE and not is_test_path(path)


def _same(path: str, other: str) -> bool:
    """Whether two paths, the first below a repository's name, are those of one file."""
    own = path.partition("/")[2]
    return own == other or other.endswith(f"/{own}") or own.endswith(f"/{other}")


def _order(place: Place) -> tuple[str, int]:
    return place.file.path, place.number
