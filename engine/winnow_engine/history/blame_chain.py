"""Commits that shaped some lines: their origins, and the origins of the lines that these replaced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from winnow_engine.changes.lines import unchanged
from winnow_engine.core import Folder
from winnow_engine.errors import RevisionError
from winnow_engine.git.objects import blobs, commits
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import named_files
from winnow_engine.history.blame import Origin, blame
from winnow_engine.history.effects import CommitEffect, FolderHistory
from winnow_engine.untrusted import printable

_LEVELS = 3  # how often to ask what a line took the place of
_MOST = 6  # commits in all, those that shaped most lines first


def shaping_commits(
    repository: Repository, folder: Folder, path: str, data: bytes, lines: Iterable[int]
) -> tuple[list[CommitEffect], int]:
    """Commits that shaped some lines of a file as it is now, newest first; and the number of uncommitted lines.

    `path` is the file's path within the folder, `data` its bytes, `lines` are 1-based. Raises GitError, RevisionError.
    """
    head = repository.commit("HEAD")
    wanted = sorted(set(lines))
    committed = _committed(repository, head, f"{repository.prefix}{path}", data, wanted)
    found: dict[str, CommitEffect] = {}
    history = FolderHistory(repository, folder)
    pending = [(head, f"{repository.prefix}{path}", committed)]
    for level in range(_LEVELS):
        origins = [origin for at, file, numbers in pending for origin in blame(repository, at, file, numbers)]
        new = _largest(origins, _MOST - len(found), found)
        pending = []
        for (commit, file), numbers in new.items():
            found[commit], before = _effect(history, commit, file, numbers, level)
            pending += [before] if before else []
        if not pending or len(found) >= _MOST:
            break
    newest_first = sorted(found.values(), key=lambda one: (-one.commit.committed_at, one.level))
    return newest_first, len(wanted) - len(committed)


def _committed(repository: Repository, head: str, path: str, data: bytes, lines: Sequence[int]) -> list[int]:
    """The lines as the last commit numbers them; what is not committed is left out. RevisionError for a new file."""
    ids = [entry.blob for entry in named_files(repository, head, [path])]
    contents = blobs(repository.git, ids)
    if not contents:
        raise RevisionError(f"{printable(path)} is in no commit yet: commit it, then ask why it is so")
    (blob,) = contents.values()
    if blob == data:
        return list(lines)
    then = unchanged(data.splitlines(), blob.splitlines())
    return [then[line] for line in lines if line in then]


def _largest(origins: Iterable[Origin], most: int, known: Iterable[str]) -> dict[tuple[str, str], list[int]]:
    """Commits and files that most lines come from, with the lines there; no commit twice, none that is known."""
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


def _effect(
    history: FolderHistory, commit_id: str, path: str, lines: Sequence[int], level: int
) -> tuple[CommitEffect, tuple[str, str, list[int]] | None]:
    """Effect of a commit on lines, and the lines that these replaced: commit, path and lines."""
    (commit,) = commits(history.repository.git, [commit_id])
    parent = history.parent(commit)
    changes = history.changes(commit, parent)
    change = next((one for one in changes if one.after == path), None)
    file = history.changed_files([change])[0] if change else None
    touched = set(lines)
    made = tuple(hunk for hunk in file.hunks if touched.intersection(hunk.after)) if file else ()
    effect = CommitEffect(
        commit, history.path(path), tuple(lines), file, history.others(changes, change), made, level=level
    )
    before = [line for hunk in made for line in hunk.before]
    return effect, (parent, change.before, before) if before and parent and change and change.before else None
