"""The commit that each line comes from, through moves, copies and changes of white space."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from winnow_engine.git.repository import Repository

# -w: white space does not count. -M, -C twice: lines that were moved within a file, that come from one which the same
# commit changed, or from any file if the commit makes a new one, are followed to where they were. A list of commits to
# ignore that the repository names may be missing or malformed.
_OPTIONS = ("--porcelain", "-w", "-M", "-C", "-C", "--ignore-revs-file=")
# Few lines alone are too short for git to tell where they were moved from: it wants 40 letters and digits.
_AROUND = 12
_HEADER = re.compile(rb"(?P<commit>[0-9a-f]{40}(?:[0-9a-f]{24})?) (?P<then>\d+) (?P<now>\d+)(?: \d+)?")
_FILE = b"filename "


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of a line: the commit, the path from the repository's top, and the line there."""

    line: int
    commit: str
    path: str
    line_then: int


def blame(repository: Repository, commit: str, path: str, lines: Iterable[int]) -> list[Origin]:
    """Origins of 1-based lines of a file in a commit; `path` is from the repository's top. Raises GitError."""
    wanted = set(lines)
    if not wanted:
        return []
    around = {near for line in wanted for near in range(max(line - _AROUND, 1), line + _AROUND + 1)}
    ranges = [option for start, end in _ranges(sorted(around)) for option in ("-L", f"{start},{end}")]
    # `:(top)` is for other commands: blame takes a path from the folder that it runs in.
    above = "../" * repository.prefix.count("/")
    output = repository.git.run("blame", *_OPTIONS, *ranges, commit, "--", f"{above}{path}")
    return [origin for origin in parse_porcelain(output) if origin.line in wanted]


def parse_porcelain(output: bytes) -> Iterator[Origin]:
    """The lines of git's porcelain format, in which a commit's file stands with the first line from it only."""
    paths: dict[bytes, str] = {}
    header: re.Match[bytes] | None = None
    for line in output.split(b"\n"):
        if header is None:
            header = _HEADER.fullmatch(line)
        elif line.startswith(_FILE):
            paths[header["commit"]] = _path(line.removeprefix(_FILE))
        elif line.startswith(b"\t"):
            commit = header["commit"]
            yield Origin(int(header["now"]), commit.decode(), paths[commit], int(header["then"]))
            header = None


def _path(quoted: bytes) -> str:
    """A path as git writes it: between quotes, with escapes, where it has unusual bytes."""
    if quoted.startswith(b'"') and quoted.endswith(b'"'):
        quoted = quoted[1:-1].decode("unicode_escape").encode("latin-1")  # the escapes of C, octal ones among them
    return quoted.decode("utf-8", "surrogateescape")


def _ranges(lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of neighbouring numbers, each as its first and last."""
    for _, run in groupby(enumerate(lines), lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        yield numbers[0], numbers[-1]
