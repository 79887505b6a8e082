"""Commits of a history: messages and authors of many at a time, and those that touched a name, a file or some lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from winnow_engine.git.objects import seconds
from winnow_engine.git.repository import Repository

_FIELDS = ("%H", "%P", "%ct", "%an", "%B")
_ID = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LATEST = 100
_MOST_CHARACTERS = 8_000  # of a message
_LATEST_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Logged:
    """A commit with its number of parents in this clone, and seconds since the epoch. Bytes not UTF-8 are U+FFFD.

    Of its message there are the first 8,000 characters.
    """

    id: str
    parents: int
    committed_at: int
    author: str
    message: str


def newest_commits(repository: Repository, tip: str, most: int) -> list[Logged]:
    """The `most` newest commits up to `tip`, newest first. Raises GitError, CancelledError."""
    # Every field ends with a NUL, the last of a commit with that of -z.
    options = ("-z", "--encoding=UTF-8", "--no-color", "--no-patch", f"--format={'%x00'.join(_FIELDS)}", f"-{most}")
    fields = repository.git.fields("log", *options, tip, "--")
    return [_logged(*row) for row in zip(*(iter(fields),) * len(_FIELDS), strict=True)]


def touching_commits(
    repository: Repository, tip: str, search: Sequence[str], timeout_s: float
) -> tuple[list[str], bool]:
    """Ids of the commits up to `tip` that `search` finds, newest first, merges left out.

    `search` is -S or -L of `git log`, or -- and a path. The second result is False where the search was stopped after
    `timeout_s`, or git could not go on, as in a clone without all contents. Raises GitMissingError, CancelledError.
    """
    options = ("--no-merges", "--no-patch", "--no-color", "--format=%H", tip)
    output, complete = repository.git.partial_output("log", *options, *search, timeout_s=timeout_s)
    return [line for line in output.decode("ascii", "replace").splitlines() if _ID.fullmatch(line)], complete


def changed_lately(repository: Repository) -> list[str]:
    """The files that the last 100 commits changed, the latest first, by their paths below the repository's folder.

    Some may be gone by now. Paths that are not UTF-8 have surrogate escapes. Raises GitError.
    """
    if repository.head() is None:
        return []
    options = ("-z", "--name-only", "--format=", "--no-renames", "--diff-filter=d", "--relative", f"-{_LATEST}")
    paths = repository.git.fields("log", *options, "HEAD", "--", timeout_s=_LATEST_TIMEOUT_S)
    return list(dict.fromkeys(path.decode("utf-8", "surrogateescape") for path in paths if path))


def _logged(name: bytes, parents: bytes, time: bytes, author: bytes, message: bytes) -> Logged:
    said = (author.decode("utf-8", "replace"), message.decode("utf-8", "replace")[:_MOST_CHARACTERS])
    return Logged(name.decode("ascii"), len(parents.split()), seconds(time), *said)
