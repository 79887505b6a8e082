"""Commits that shaped some lines: their origins, and the origins of the lines that these replaced."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from winnow_engine.changes.changed import line_texts, unchanged
from winnow_engine.core import Folder
from winnow_engine.errors import RevisionError
from winnow_engine.git.objects import blobs, commits
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import named_files
from winnow_engine.history.effects import CommitEffect, FolderHistory
from winnow_engine.index.file_text import as_utf8
from winnow_engine.index.lines import counts_as_git
from winnow_engine.untrusted import printable

# -w: white space does not count. -M, -C twice: lines that were moved within a file, that come from one which the same
# commit changed, or from any file if the commit makes a new one, are followed to where they were. A list of commits to
# ignore that the configuration names may be missing or malformed; an empty name before it does not clear it.
_OPTIONS = ("--porcelain", "-w", "-M", "-C", "-C", "--no-ignore-revs-file")
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
    """Origins of 1-based lines of a file in a commit; `path` is from the top. Raises GitError."""
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
    for _, run in groupby(enumerate(lines), lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        yield numbers[0], numbers[-1]


_LEVELS = 3  # how often to ask what a line took the place of
_MOST = 6  # commits in all, those that shaped most lines first


_Lines = tuple[str, str, Sequence[int]]
"""Lines of a file in a commit: its id, the path from the repository's top, the lines."""


def shaping_commits(
    repository: Repository, folder: Folder, path: str, data: bytes, lines: Iterable[int]
) -> tuple[list[CommitEffect], int]:
    """Commits that shaped some lines of a file as it is now, newest first; and the number of uncommitted lines.

    `path` is within the folder, `data` the file's bytes. Raises GitError.
    """
    head = repository.commit("HEAD")
    wanted = sorted(set(lines))
    committed = _committed(repository, head, f"{repository.prefix}{path}", data, wanted)
    found: dict[str, CommitEffect] = {}
    history = FolderHistory(repository, folder)
    pending: list[_Lines] = [(head, f"{repository.prefix}{path}", committed)]
    for level in range(_LEVELS):
        origins = [origin for asked in pending for origin in blame(repository, *asked)]
        new = _largest(origins, _MOST - len(found), found)
        pending = []
        for (commit, file), shaped in new.items():
            found[commit], before = _effect(history, commit, file, shaped, level)
            pending += [before] if before else []
        if not pending or len(found) >= _MOST:
            break
    newest_first = sorted(found.values(), key=lambda one: (-one.commit.committed_at, one.level))
    return newest_first, len(wanted) - len(committed)


def _committed(repository: Repository, head: str, path: str, data: bytes, lines: Sequence[int]) -> list[int]:
    """The lines as the last commit numbers them, less uncommitted ones. RevisionError if it cannot tell."""
    ids = [entry.blob for entry in named_files(repository, head, [path])]
    contents = blobs(repository.git, ids)
    if not contents:
        raise RevisionError(f"{printable(path)} is in no commit yet: commit it, then ask why it is so")
    blob, _ = as_utf8(*contents.values())
    if not counts_as_git(blob):
        raise RevisionError(f"git does not see the lines of {printable(path)}: some end with a lone carriage return")
    if blob == data:
        return list(lines)
    then = unchanged(line_texts(data), line_texts(blob))
    return [then[line] for line in lines if line in then]


def _largest(origins: Iterable[Origin], most: int, known: Iterable[str]) -> dict[tuple[str, str], list[Origin]]:
    """Commits and files that most lines come from, with these; no commit twice, none that is known."""
    by_place: dict[tuple[str, str], list[Origin]] = defaultdict(list)
    for origin in origins:
        by_place[origin.commit, origin.path].append(origin)
    chosen: dict[tuple[str, str], list[Origin]] = {}
    taken = set(known)
    for place in sorted(by_place, key=lambda one: -len(by_place[one])):
        if place[0] not in taken and len(chosen) < most:
            taken.add(place[0])
            chosen[place] = by_place[place]
    return chosen


def _effect(
    history: FolderHistory, commit_id: str, path: str, origins: Sequence[Origin], level: int
) -> tuple[CommitEffect, _Lines | None]:
    """Effect of a commit on lines, and the lines that these replaced."""
    (commit,) = commits(history.repository.git, [commit_id])
    changes = history.changes(commit)
    change = next((one for one in changes if one.after == path), None)
    file = history.changed_files([change])[0] if change else None
    lines = tuple(sorted({origin.line_then for origin in origins}))
    made = tuple(hunk for hunk in file.hunks if not set(lines).isdisjoint(hunk.after)) if file else ()
    others = history.others(changes, change)
    effect = CommitEffect(commit, history.path(path), lines, file, others, made, level=level)
    before = [line for hunk in made for line in hunk.before]
    if not (before and commit.parents and change and change.before and file and counts_as_git(file.before or b"")):
        return effect, None
    return effect, (commit.parents[0], change.before, before)
