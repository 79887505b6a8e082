"""The commits that questions are made of: small ones, each about one thing, with the units that they changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from winnow_engine.changes.changed import ChangedFile
from winnow_engine.changes.reading import why_no_code
from winnow_engine.changes.units import ChangedUnit, FileUnits, file_units
from winnow_engine.core import UnitKind
from winnow_engine.errors import GitError
from winnow_engine.git.objects import Commit, blobs, commits
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import FileChange, parse_raw, tree_changes
from winnow_engine.index.languages import for_path

MOST_UNITS = 6
MOST_FILES = 12
_LEAST_WORDS = 3
# Of messages whose commits are no work on one thing, or undo some.
_NO_REASON = re.compile(
    r"\b(?:merge[ds]?|revert(?:s|ed)?|bump(?:s|ed)?|release[ds]?|versions?|changelog|re-?format(?:ted|ting)?|formatting|"
    r"fmt|lint(?:er|ing)?|style|white ?spaces?|indent(?:ation|ed)?|clang-format|rustfmt|gofmt|black|prettier|typos?|"
    r"pre-commit|pyupgrade|isort|flake8|rename[ds]?|move[ds]?|move files?)\b",
    re.IGNORECASE,
)
_SPACE = re.compile(rb"\s+")
PROSE = ("json", "markdown", "toml", "yaml")
"""Languages that have no units of code."""
CODE = (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER, UnitKind.TOP_LEVEL)


@dataclass(frozen=True)
class SmallCommit:
    """A commit with one parent, and the files of code that it changed, cut into units."""

    commit: Commit
    files: tuple[FileUnits, ...]

    @property
    def parent(self) -> str:
        """The commit before."""
        return self.commit.parents[0]

    @property
    def units(self) -> list[ChangedUnit]:
        """The units of code in which more than white space changed, in path and line order."""
        return [unit for file in self.files for unit in file.units if _is_code(unit) and _differs(unit)]


def squeezed(data: bytes) -> list[tuple[int, bytes]]:
    """The lines that are not blank, without any white space, each with its number."""
    lines = ((number, _SPACE.sub(b"", line)) for number, line in enumerate(data.split(b"\n"), 1))
    return [(number, line) for number, line in lines if line]


def all_commits(repository: Repository) -> list[Commit]:
    """Every commit up to the one that is checked out, merges left out, newest first."""
    ids = repository.git.run("rev-list", "--no-merges", "HEAD").decode("ascii").split()
    return commits(repository.git, ids)


def by_chance(found: Iterable[Commit], seed: int) -> list[Commit]:
    """The commits in an order that depends on the seed alone."""
    return sorted(found, key=lambda one: sha256(f"{seed}/{one.id}".encode()).digest())


def small_commits(repository: Repository, found: Iterable[Commit]) -> Iterator[SmallCommit]:
    """Those of some commits that have a message which gives a reason, and change one to six units of code."""
    for commit in found:
        if len(commit.parents) == 1 and gives_a_reason(commit.subject):
            small = _small(repository, commit)
            if small is not None:
                yield small


def small_commit(
    commit: Commit, changes: Iterable[FileChange], content: Callable[[str], bytes | None]
) -> SmallCommit | None:
    """A commit with these of its changes, if one to six units of code are in them. `content` reads a blob."""
    files = (_file(change, content) for change in changes)
    small = SmallCommit(commit, tuple(file_units(file) for file in files if file is not None and file.hunks))
    return small if 1 <= len(small.units) <= MOST_UNITS else None


def gives_a_reason(subject: str) -> bool:
    """Whether a message's first line has three words at least, none of which says that nothing was to change."""
    return len(re.findall(r"[A-Za-z]{2,}", subject)) >= _LEAST_WORDS and not _NO_REASON.search(subject)


def _small(repository: Repository, commit: Commit) -> SmallCommit | None:
    try:
        changes = tree_changes(repository, commit.parents[0], commit.id)
    except GitError:  # the clone lacks large files of it
        return None
    if len(changes) > MOST_FILES or any(change.before not in (None, change.path) for change in changes):
        return None
    wanted = [change for change in changes if change.regular and for_path(change.path)]
    return small_commit(commit, wanted, blobs(repository.git, blobs_of(wanted)).get)


def blobs_of(changes: Iterable[FileChange]) -> list[str]:
    """The blobs of some changes, on both sides."""
    return [blob for one in changes for blob in (one.before_blob, one.after_blob) if blob]


def _file(change: FileChange, content: Callable[[str], bytes | None]) -> ChangedFile | None:
    """What changed in a file; None if one of its sides cannot be read, or if no person wrote it."""
    sides = [content(blob) for blob in (change.before_blob, change.after_blob) if blob]
    if why_no_code(sides):
        return None
    blobs_read = (blob for blob in (change.before_blob, change.after_blob) if blob)
    return ChangedFile.of(change, {blob: data for blob in blobs_read if (data := content(blob)) is not None})


def _is_code(unit: ChangedUnit) -> bool:
    present = unit.after or unit.before
    return present is not None and present.kind in CODE


def _differs(unit: ChangedUnit) -> bool:
    return _words(unit.before_lines) != _words(unit.after_lines)


def _words(lines: Sequence[bytes]) -> bytes:
    return _SPACE.sub(b"", b"".join(lines))


def commit_changes(repository: Repository, ids: Sequence[str]) -> dict[str, list[FileChange]]:
    """The files that differ between each commit and its only parent, without renames, by one process for all."""
    options = ("--stdin", "--raw", "-z", "-r", "--no-abbrev", "--ignore-submodules=dirty", "--no-renames")
    stdin = "".join(f"{one}\n" for one in ids).encode()
    found: dict[str, list[bytes]] = {}
    fields: list[bytes] = []
    for field in repository.git.fields("diff-tree", *options, stdin=stdin):
        if not field.startswith(b":") and len(fields) % 2 == 0:  # a commit's id, or the last field, which is empty
            fields = found.setdefault(field.decode("ascii"), []) if field else fields
        else:
            fields.append(field)
    return {commit: list(parse_raw(fields)) for commit, fields in found.items()}
