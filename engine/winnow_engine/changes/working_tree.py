"""Changes of the working tree, open documents included, against the blobs of a commit.

git is not asked, because it would pass the files through filters. A file with the size and time that the index has of
it holds the blob of the index; others are hashed. Files left out of the workspace only count when gone or emptied.
Files of a submodule are compared with the commit that is checked out there.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import TypeGuard

from winnow_engine.changes.changed import ChangedFile, similarity
from winnow_engine.core import Folder
from winnow_engine.errors import GitError
from winnow_engine.git.objects import blobs
from winnow_engine.git.repository import Repository, open_repository
from winnow_engine.git.trees import REGULAR, Entry, index_files, tree_files
from winnow_engine.git.working_trees import is_repository
from winnow_engine.index.file_rules import unreadable_content
from winnow_engine.index.file_text import file_text
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.lines import with_lf
from winnow_engine.index.name_rules import reason_against_path
from winnow_engine.index.workspace import Workspace
from winnow_engine.untrusted import printable

_SUBMODULE = "160000"
_LFS = b"version https://git-lfs.github.com/spec/"
_SIMILAR = 0.5  # lines in common, from which a new file is an old one under another name
_MOST_COMPARED = 2_500  # pairs of a new and a removed file whose texts differ


@dataclass(frozen=True)
class _Folder:
    folder: Folder
    commit: str
    present: Mapping[str, IndexedFile]
    entries: Mapping[str, Entry]
    staged: Mapping[str, Entry]
    staged_ns: int

    def holds(self, path: str) -> bool:
        """True if a file holds the blob that the tree has of it."""
        file, blob = self.present[path], self.entries[path].blob
        return (self._blob_of_index(path, file) or blob_id(file.content.read(), blob)) == blob

    def _blob_of_index(self, path: str, file: IndexedFile) -> str | None:
        """The blob that the index has of a file, if the file has not been written since the index was."""
        entry = self.staged.get(path)
        if entry is None or entry.stat is None or file.content.held is not None:
            return None
        try:
            status = (self.folder.root / path).lstat()
        except OSError:
            return None
        unchanged = entry.stat == (status.st_size, status.st_mtime_ns) and status.st_mtime_ns < self.staged_ns
        return entry.blob if unchanged else None

    def file(self, path: str, before: str | None, contents: Mapping[str, bytes], removed: bool = False) -> ChangedFile:
        return ChangedFile(
            path=printable(self.folder.workspace_path(path)),
            before_path=None if before is None else printable(self.folder.workspace_path(before)),
            before=None if before is None else contents[self.entries[before].blob],
            after=None if removed else self.present[path].data if path in self.present else b"",
            removed=removed,
            commit=self.commit,
        )


def working_changes(
    repository: Repository, folder: Folder, before: str, workspace: Workspace, folders: Collection[Path]
) -> Iterator[ChangedFile]:
    """The files of a folder that differ from a commit or tree, new ones and removed ones included. Raises GitError.

    Submodules that git cannot read, links, and those among the workspace's `folders`, real paths, are left out.
    """
    prefix = len(repository.prefix)
    entries = {entry.path[prefix:]: entry for entry in tree_files(repository, before)}
    staged = {entry.path[prefix:]: entry for entry in index_files(repository)}
    inner = {path for path, entry in staged.items() if entry.mode == _SUBMODULE}
    sparse = {path for path, entry in staged.items() if entry.skipped}
    present = {path: file for file in workspace.files if (path := folder.relative(file.path)) is not None}
    has = _Folder(folder, before, present, entries, staged, _written_ns(repository.index))
    differing = [path for path in present if path in entries and not has.holds(path)]
    added = [path for path in present if path not in entries and not _is_in_another(folder.root, path, inner)]
    sizes = {path: _size_now(has, path) for path in entries if path not in present and path not in sparse}
    removed = [path for path, size in sizes.items() if size is None]
    emptied = [path for path, size in sizes.items() if size == 0]
    blob_paths = {entries[path].blob: path for path in (*differing, *emptied, *removed)}
    found = blobs(repository.git, list(blob_paths))
    contents = {blob: file_text(blob_paths[blob], data)[0] for blob, data in found.items()}
    removed = [path for path in removed if _is_text(contents.get(entries[path].blob))]
    pairs = dict(_renames(has, added, removed, contents))
    for path in (*differing, *emptied):
        if _differs(contents.get(entries[path].blob), present[path].data if path in present else b""):
            yield has.file(path, path, contents)
    yield from (has.file(path, pairs.get(path), contents) for path in added)
    yield from (has.file(path, path, contents, removed=True) for path in sorted({*removed} - {*pairs.values()}))
    for path in sorted(inner):
        within = Folder(folder.root / path, folder.workspace_path(path))
        # Without a repository of its own, git would find the one around it; a link may lead anywhere.
        real = within.root.resolve() if is_repository(within.root) else None
        if real == folder.root.resolve() / path and real not in folders:
            with suppress(GitError):
                opened = open_repository(within.root, repository.git.cancellation)
                before = opened.head() or opened.empty_tree
                yield from list(working_changes(opened, within, before, workspace, folders))


def blob_id(data: bytes, format_like: str) -> str:
    """The object id that git gives some content, in the format of another id."""
    name = "sha1" if len(format_like) == 40 else "sha256"
    return hashlib.new(name, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _written_ns(index: Path) -> int:
    """Time at which the index was written, 0 without an index. Later changes may be unknown to it."""
    try:
        return index.stat().st_mtime_ns
    except OSError:
        return 0


def _differs(before: bytes | None, after: bytes) -> bool:
    """True if more than line ends differ, as far as can be told without filters."""
    return _is_text(before) and not before.startswith(_LFS) and with_lf(before) != with_lf(after)


def _is_text(data: bytes | None) -> TypeGuard[bytes]:
    return data is not None and (not data.strip() or unreadable_content(data) is None)


def _size_now(has: _Folder, path: str) -> int | None:
    """Bytes of a file that the workspace leaves out, None if it is gone; -1 for one that no change is shown of."""
    if has.entries[path].mode not in REGULAR or reason_against_path(path):
        return -1
    try:
        status = (has.folder.root / path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # in a folder that this user may not enter
        return -1
    return status.st_size if S_ISREG(status.st_mode) else None


def _is_in_another(root: Path, path: str, inner: set[str]) -> bool:
    above = [parent.as_posix() for parent in Path(path).parents if parent != Path()]
    return any(parent in inner or (root / parent / ".git").exists() for parent in above)


def _renames(
    has: _Folder, added: Iterable[str], removed: Iterable[str], contents: Mapping[str, bytes]
) -> Iterator[tuple[str, str]]:
    """Pairs of a new file and a removed one that it was: those of equal text, then the most similar; each file once."""
    before = {path: contents[has.entries[path].blob] for path in sorted(removed)}
    after = {path: has.present[path].data for path in sorted(added)}
    by_text = defaultdict[bytes, list[str]](list)
    for old in reversed(before):
        by_text[with_lf(before[old])].append(old)
    for new, data in list(after.items()):
        if same := by_text[with_lf(data)]:
            del after[new], before[same[-1]]
            yield new, same.pop()
    if len(after) * len(before) > _MOST_COMPARED:
        return
    scored = [(-similarity(ours, theirs), new, old) for new, theirs in after.items() for old, ours in before.items()]
    for score, new, old in sorted(scored):
        if -score >= _SIMILAR and new in after and old in before:
            del after[new], before[old]
            yield new, old
