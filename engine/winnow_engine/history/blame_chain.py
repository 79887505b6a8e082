"""Commits that shaped some lines: their origins, and the origins of the lines that these replaced."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby

from winnow_engine.changes.changed import ChangedFile, line_texts, unchanged
from winnow_engine.core import Folder
from winnow_engine.errors import RevisionError
from winnow_engine.git.objects import blobs, commits
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import named_files, unquoted
from winnow_engine.history.effects import CommitEffect, FolderHistory
from winnow_engine.index.file_text import as_utf8
from winnow_engine.index.lines import git_numbers
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
    """Origin of a line: the commit, the path from the repository's top, and the line there, as git counts lines.

    A lone CR ends no line in git. Where there are some, the line is the one `within` that of git.
    """

    line: int
    commit: str
    path: str
    line_then: int
    within: int = 0

    def line_in(self, data: bytes) -> int:
        """The line of the file as it was, given what the origin's commit has of it."""
        numbers = git_numbers(data)
        first, end = bisect_left(numbers, self.line_then), bisect_right(numbers, self.line_then)
        return min(first + self.within, end - 1) + 1 if first < end else self.line_then


def blame(repository: Repository, commit: str, path: str, data: bytes, lines: Iterable[int]) -> Iterator[Origin]:
    """Origins of 1-based lines of a file, which is `data` in a commit; `path` is from the top. Raises GitError."""
    numbers = git_numbers(data)
    wanted = {line: numbers[line - 1] for line in sorted(set(lines)) if line <= len(numbers)}
    by_number = {one.line: one for one in _blame(repository, commit, path, set(wanted.values()))}
    for line, number in wanted.items():
        if number in by_number:
            yield replace(by_number[number], line=line, within=line - 1 - bisect_left(numbers, number))


def _blame(repository: Repository, commit: str, path: str, wanted: Set[int]) -> list[Origin]:
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
            paths[header["commit"]] = unquoted(line.removeprefix(_FILE))
        elif line.startswith(b"\t"):
            commit = header["commit"]
            yield Origin(int(header["now"]), commit.decode(), paths[commit], int(header["then"]))
            header = None


def _ranges(lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    for _, run in groupby(enumerate(lines), lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        yield numbers[0], numbers[-1]


_LEVELS = 3  # how often to ask what a line took the place of
_MOST_PASSED = 40  # how often to ask git in all, as it blames commits for other lines too where a lone CR ends them
_MOST = 6  # commits in all, those that shaped most lines first

_Lines = tuple[str, str, bytes, Sequence[int]]
"""Lines of a file in a commit: its id, the path from the repository's top, the content, the lines."""


def shaping_commits(
    repository: Repository, folder: Folder, path: str, data: bytes, lines: Iterable[int]
) -> tuple[list[CommitEffect], int]:
    """Commits that shaped some lines of a file as it is now, newest first; and the number of uncommitted lines.

    `path` is within the folder, `data` the file's bytes. Raises GitError.
    """
    head = repository.commit("HEAD")
    wanted = sorted(set(lines))
    blob, committed = _committed(repository, head, f"{repository.prefix}{path}", data, wanted)
    found: dict[str, CommitEffect] = {}
    history = FolderHistory(repository, folder)
    pending: list[_Lines] = [(head, f"{repository.prefix}{path}", blob, committed)]
    level = 0
    for _ in range(_MOST_PASSED):
        origins = [origin for asked in pending for origin in blame(repository, *asked)]
        new = _largest(origins, _MOST - len(found), found)
        pending = []
        for (commit, file), shaped in new.items():
            effect, before = _effect(history, commit, file, shaped, level)
            found |= {commit: effect} if effect else {}
            pending += [before] if before else []
        level += not found.keys().isdisjoint(commit for commit, _ in new)
        if not pending or len(found) >= _MOST or level >= _LEVELS:
            break
    newest_first = sorted(found.values(), key=lambda one: (-one.commit.committed_at, one.level))
    return newest_first, len(wanted) - len(committed)


def _committed(
    repository: Repository, head: str, path: str, data: bytes, lines: Sequence[int]
) -> tuple[bytes, list[int]]:
    """The last commit's content, and the lines as it numbers them, less uncommitted ones. Raises RevisionError."""
    ids = [entry.blob for entry in named_files(repository, head, [path])]
    contents = blobs(repository.git, ids)
    if not contents:
        raise RevisionError(f"{printable(path)} is in no commit yet: commit it, then ask why it is so")
    blob, _ = as_utf8(*contents.values())
    if blob == data:
        return blob, list(lines)
    then = unchanged(line_texts(data), line_texts(blob))
    return blob, [then[line] for line in lines if line in then]


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
) -> tuple[CommitEffect | None, _Lines | None]:
    """Effect of a commit on lines, None if it has none, and the lines that these replaced or were."""
    (commit,) = commits(history.repository.git, [commit_id])
    changes = history.changes(commit)
    change = next((one for one in changes if one.after == path), None)
    file = history.changed_files([change])[0] if change else None
    lines = sorted({origin.line_in((file and file.after) or b"") for origin in origins})
    touched = set(lines)
    made = tuple(hunk for hunk in file.hunks if touched.intersection(hunk.after)) if file else ()
    others = history.others(changes, change)
    effect = CommitEffect(commit, history.path(path), tuple(lines), file, others, made, level=level)
    if not (commit.parents and change and change.before and file and file.before):
        return effect, None
    kept = _kept(file, touched)
    before = sorted({*kept, *(line for hunk in made for line in hunk.before)})
    earlier = (commit.parents[0], change.before, file.before, before) if before else None
    return None if kept and not made else effect, earlier


def _kept(file: ChangedFile, touched: Set[int]) -> list[int]:
    """Lines that a commit left as they were, of those for which git blames it as they are in one line of git's."""
    if len(file.after_lines) == len(set(git_numbers(file.after or b""))):
        return []
    then = unchanged(file.after_lines, file.before_lines)
    return [then[line] for line in touched if line in then]
