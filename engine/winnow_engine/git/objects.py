"""Reads commits, messages and blobs as they are stored: no filter, no conversion of line ends or text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from winnow_engine.errors import GitError
from winnow_engine.git.program import Git
from winnow_engine.git.repository import Repository

MOST_BLOB_BYTES = 4 << 20  # larger blobs are not read: what they hold is no code

_LATEST = 253_402_300_799


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its parents in this clone, and its times in seconds since the epoch."""

    id: str
    parents: tuple[str, ...]
    author: str
    authored_at: int
    committed_at: int
    message: str

    @property
    def subject(self) -> str:
        """The message's first line."""
        return self.message.strip().partition("\n")[0].strip()


def blobs(git: Git, ids: Iterable[str], most_bytes: int = MOST_BLOB_BYTES) -> dict[str, bytes]:
    """The contents of blobs by object id; those that are larger, or not there, are left out. Raises GitError."""
    wanted = list(dict.fromkeys(ids))
    sizes = _sizes(git, wanted)
    small = [one for one in wanted if one in sizes and sizes[one][0] == "blob" and sizes[one][1] <= most_bytes]
    return dict(_contents(git, small))


def seconds(text: bytes | str) -> int:
    """A commit's time in seconds since the epoch, from 1970 to 9999: it may have any digits, or none, which is 0."""
    try:
        return min(max(int(text), 0), _LATEST)
    except ValueError:
        return 0


def _sizes(git: Git, ids: Sequence[str]) -> dict[str, tuple[str, int]]:
    if not ids:
        return {}
    output = git.run("cat-file", "--batch-check", stdin=_lines(ids)).decode("ascii", "replace")
    rows = [line.split(" ") for line in output.splitlines()]
    return {row[0]: (row[1], int(row[2])) for row in rows if len(row) == 3 and row[2].isdigit()}


def _contents(git: Git, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    if not ids:
        return
    output = git.run("cat-file", "--batch", stdin=_lines(ids))
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        header = output[at:end].decode("ascii", "replace").split(" ")
        if len(header) != 3 or not header[2].isdigit():  # "<name> missing"
            at = end + 1
            continue
        start, size = end + 1, int(header[2])
        if start + size > len(output):
            raise GitError("`git cat-file` ended in the middle of an object: run `git fsck`")
        yield header[0], output[start : start + size]
        at = start + size + 1


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{one}\n" for one in ids).encode()


_FIELDS = ("%H", "%P", "%an", "%at", "%ct", "%B")
_ID = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")


def commits(git: Git, ids: Sequence[str]) -> list[Commit]:
    """The commits with these full object ids, in this order. Raises GitError."""
    return _logged(git, "--no-walk=unsorted", "--stdin", stdin=_lines(ids)) if ids else []


def newest_commits(repository: Repository, tip: str, most: int) -> list[Commit]:
    """The `most` newest commits up to `tip`, newest first. Raises GitError, CancelledError."""
    return _logged(repository.git, f"-{most}", tip, "--")


def _logged(git: Git, *arguments: str, stdin: bytes = b"") -> list[Commit]:
    # Every field ends with a NUL, the last of a commit with that of -z.
    options = ("-z", "--encoding=UTF-8", "--no-color", "--no-patch", f"--format={'%x00'.join(_FIELDS)}")
    fields = git.fields("log", *options, *arguments, stdin=stdin)
    return [_commit(*row) for row in zip(*(iter(fields),) * len(_FIELDS), strict=True)]


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


def _commit(*fields: bytes) -> Commit:
    name, parents, author, authored, committed, message = (field.decode("utf-8", "replace") for field in fields)
    times = seconds(authored), seconds(committed)
    return Commit(name, tuple(parents.split()), author, *times, message)
