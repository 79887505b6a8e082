"""The commits that shaped some lines: those they come from, and those whose lines these took the place of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from winnow_engine.changes.changed import ChangedFile
from winnow_engine.changes.lines import Hunk, unchanged
from winnow_engine.core import Folder
from winnow_engine.errors import RevisionError
from winnow_engine.git.objects import Commit, blobs, commits, existing
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import FileChange, tree_changes
from winnow_engine.history.blame import Origin, blame
from winnow_engine.untrusted import printable

_LEVELS = 3
"""How many times to ask what a line took the place of."""
_MOST = 6
"""Commits in all, those that shaped most lines first."""
_MOST_FILES = 200  # of a commit with more, only the file of the lines is read


@dataclass(frozen=True)
class Shaping:
    """A commit with what it did to the lines that are asked about.

    `lines` are theirs in the file that the commit left, at the workspace path `path`. `file` is what it did to that
    file, and `others` the paths of the other files it touched. `level` counts the commits between this and the lines.
    `hunks` are what made these lines, and `units` the names of what they are in, if that is to be said.
    """

    commit: Commit
    path: str
    lines: tuple[int, ...]
    file: ChangedFile | None
    others: tuple[str, ...]
    level: int
    hunks: tuple[Hunk, ...]
    units: tuple[str, ...] = ()


def shaping_commits(
    repository: Repository, folder: Folder, path: str, data: bytes, lines: Iterable[int]
) -> tuple[list[Shaping], int]:
    """The commits that shaped some lines of a file as it is now, newest first; and how many lines are in no commit yet.

    `path` is the file's path within the folder, `data` its bytes, `lines` are 1-based. Raises GitError, RevisionError.
    """
    head = repository.commit("HEAD")
    wanted = sorted(set(lines))
    committed = _committed(repository, head, f"{repository.prefix}{path}", data, wanted)
    found: dict[str, Shaping] = {}
    pending = [(head, f"{repository.prefix}{path}", committed)]
    for level in range(_LEVELS):
        origins = [origin for at, file, numbers in pending for origin in blame(repository, at, file, numbers)]
        new = _largest(origins, _MOST - len(found), found)
        pending = []
        for (commit, file), numbers in new.items():
            shaping, before = _shaping(repository, folder, commit, file, numbers, level)
            found[commit] = shaping
            pending += [before] if before else []
        if not pending or len(found) >= _MOST:
            break
    newest_first = sorted(found.values(), key=lambda one: (-one.commit.committed_at, one.level))
    return newest_first, len(wanted) - len(committed)


def _committed(repository: Repository, head: str, path: str, data: bytes, lines: Sequence[int]) -> list[int]:
    """The lines as the last commit numbers them; what is not committed is left out. RevisionError for a new file."""
    blob = _blob(repository, head, path)
    if blob is None:
        raise RevisionError(f"{printable(path)} is in no commit yet: commit it, then ask why it is so")
    if blob == data:
        return list(lines)
    then = unchanged(data.splitlines(), blob.splitlines())
    return [then[line] for line in lines if line in then]


def _blob(repository: Repository, commit: str, path: str) -> bytes | None:
    fields = repository.git.fields("ls-tree", "-z", "--full-tree", commit, "--", path)
    row = fields[0].partition(b"\t")[0].decode("ascii", "replace").split(" ") if fields else []
    return blobs(repository.git, [row[2]]).get(row[2]) if len(row) == 3 and row[1] == "blob" else None


def _largest(origins: Iterable[Origin], most: int, known: Iterable[str]) -> dict[tuple[str, str], list[int]]:
    """The commits and files that most lines come from, with these lines there; no commit twice, none that is known."""
    by_place: dict[tuple[str, str], list[int]] = defaultdict(list)
    for origin in origins:
        by_place[origin.commit, origin.path].append(origin.line_then)
    chosen: dict[tuple[str, str], list[int]] = {}
    taken = set(known)
    for place in sorted(by_place, key=lambda one: -len(by_place[one])):
        if place[0] not in taken and len(chosen) < most:
            taken.add(place[0])
            chosen[place] = sorted(by_place[place])
    return chosen


def _shaping(
    repository: Repository, folder: Folder, commit_id: str, path: str, lines: Sequence[int], level: int
) -> tuple[Shaping, tuple[str, str, list[int]] | None]:
    """What a commit did, and the lines that these took the place of: commit, path and lines."""
    (commit,) = commits(repository.git, [commit_id])
    parent = _parent(repository, commit)
    changes = tree_changes(repository, parent or repository.empty_tree, commit_id)
    change = next((one for one in changes if one.after == path), None)
    file = file_of(repository, folder, change) if change else None
    others = [path_of(folder, repository, one.path) for one in changes[:_MOST_FILES] if one is not change]
    touched = set(lines)
    made = tuple(hunk for hunk in file.hunks if touched.intersection(hunk.after)) if file else ()
    shaping = Shaping(commit, path_of(folder, repository, path), tuple(lines), file, tuple(others), level, made)
    before = [line for hunk in made for line in hunk.before] if parent and change and change.before else []
    return shaping, (parent, change.before, before) if before and parent and change and change.before else None


def _parent(repository: Repository, commit: Commit) -> str | None:
    """The first parent, if there is one in this clone."""
    first = commit.parents[:1]
    return first[0] if first and existing(repository.git, first) else None


def file_of(repository: Repository, folder: Folder, change: FileChange) -> ChangedFile | None:
    """What a commit did to a file; None if that is not code that can be read."""
    return changed_file(repository, folder, change, blobs(repository.git, blobs_of(change))) if change.regular else None


def blobs_of(change: FileChange) -> list[str]:
    """The blobs of a file on both sides."""
    return [blob for blob in (change.before_blob, change.after_blob) if blob]


def changed_file(
    repository: Repository, folder: Folder, change: FileChange, contents: Mapping[str, bytes]
) -> ChangedFile:
    """What a commit did to a file whose contents were read."""
    return ChangedFile(
        path=path_of(folder, repository, change.path),
        before_path=None if change.before is None else path_of(folder, repository, change.before),
        before=contents.get(change.before_blob or ""),
        after=contents.get(change.after_blob or ""),
        added=change.before is None,
        removed=change.after is None,
    )


def path_of(folder: Folder, repository: Repository, path: str) -> str:
    """The workspace path of a file that is given from the repository's top; one outside the folder keeps its own."""
    inside = path.startswith(repository.prefix)
    return printable(folder.workspace_path(path.removeprefix(repository.prefix)) if inside else path)
