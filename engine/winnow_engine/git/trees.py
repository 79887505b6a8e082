"""Files of trees and of the index, and the differences between them, with renames."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from winnow_engine.git.repository import Repository

# Renames are looked for among this many files at most, as git's cost is the square of it.
_OPTIONS = ("--raw", "-z", "-r", "--no-abbrev", "--ignore-submodules=dirty", "-M")
_RENAMES = "-l1000"
# What `git ls-files --debug` says of a file. In another form it is not used.
_STATUS = re.compile(
    rb" *ctime: \d+:\d+\n *mtime: (?P<s>\d+):(?P<ns>\d+)\n *dev: \d+\tino: \d+\n *uid: \d+\tgid: \d+\n"
    rb" *size: (?P<size>\d+)\tflags: [0-9a-f]+\n"
)

REGULAR = frozenset({"100644", "100755"})  # the modes of files with content; links and submodules have others


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that differs: paths from the repository's top, None where there is no file, object ids and modes.

    Paths that are not UTF-8 have surrogate escapes; a submodule's blob is its commit.
    """

    before: str | None
    after: str | None
    before_blob: str | None
    after_blob: str | None
    before_mode: str | None
    after_mode: str | None

    @property
    def path(self) -> str:
        """The path after the change, or before it if the file is gone."""
        path = self.after if self.after is not None else self.before
        assert path is not None, self
        return path

    @property
    def regular(self) -> bool:
        """True for a file with content on each side that it exists on."""
        return all(mode is None or mode in REGULAR for mode in (self.before_mode, self.after_mode))


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a tree or the index, by its path from the top. A sparse tree's is `skipped` on disk.

    `stat` is the size and the time of change in ns that it had when git last found it to hold this blob.
    """

    path: str
    mode: str
    blob: str
    skipped: bool = False
    stat: tuple[int, int] | None = None


def tree_changes(repository: Repository, before: str, after: str, *, renames: bool = True) -> list[FileChange]:
    """The files that differ between two commits or trees, given by object id, in path order. Raises GitError."""
    options = (*_OPTIONS, _RENAMES) if renames else (*_OPTIONS[:-1], "--no-renames")
    return list(parse_raw(repository.git.fields("diff-tree", *options, before, after, "--")))


def staged_changes(repository: Repository, before: str) -> list[FileChange]:
    """The files that differ between a commit or tree, by object id, and the index. No file on disk is looked at."""
    return list(parse_raw(repository.git.fields("diff-index", "--cached", *_OPTIONS, _RENAMES, before, "--")))


def tree_files(repository: Repository, tree: str) -> list[Entry]:
    """The files of a commit or tree below the repository's folder, with links and submodules, in git's order."""
    below = [repository.prefix] if repository.prefix else []
    fields = repository.git.fields("ls-tree", "-r", "-z", "--full-tree", tree, "--", *below)
    return [_tree_entry(field) for field in fields]


def named_files(repository: Repository, tree: str, paths: Sequence[str]) -> list[Entry]:
    """The files of a commit or tree at these paths from the repository's top, where there are some."""
    fields = repository.git.fields("ls-tree", "-z", "--full-tree", tree, "--", *paths) if paths else []
    return [_tree_entry(field) for field in fields]


def index_files(repository: Repository) -> list[Entry]:
    """The files of the index below the repository's folder; of a file in conflict, one side. Reads no file on disk."""
    # --debug adds to each entry's field what the index has of the file's status, at the beginning of the next field.
    fields = repository.git.fields("ls-files", "-s", "-t", "-z", "--debug", "--full-name")
    found = []
    for field, following in pairwise(fields):
        match = _STATUS.match(following)
        stat = (int(match["size"]), int(match["s"]) * 1_000_000_000 + int(match["ns"])) if match else None
        row, _, path = _STATUS.sub(b"", field, count=1).partition(b"\t")
        tag, mode, blob, _ = row.decode("ascii").split(" ")
        found.append(Entry(_path(path), mode, blob, tag in "Ss", stat))
    return list({entry.path: entry for entry in found}.values())


def parse_raw(fields: Sequence[bytes]) -> Iterator[FileChange]:
    """The records of git's raw format, less those in conflict (U), which git lists a second time as modified."""
    at = 0
    while at < len(fields):
        if not fields[at].startswith(b":"):  # diff-tree of one commit begins with its id
            at += 1
            continue
        modes = fields[at][1:].decode("ascii").split(" ")
        status = modes[4][0]
        paths = [_path(path) for path in fields[at + 1 : at + (3 if status in "RC" else 2)]]
        at += 1 + len(paths)
        if status != "U":
            yield _change(modes, status, paths)


def unquoted(path: bytes) -> str:
    """A path as git prints it: between quotes, with the escapes of C, where it has unusual bytes."""
    if len(path) > 1 and path.startswith(b'"') and path.endswith(b'"'):
        path = path[1:-1].decode("unicode_escape", "replace").encode("latin-1", "replace")
    return _path(path)


def _change(row: Sequence[str], status: str, paths: Sequence[str]) -> FileChange:
    before_mode, after_mode, before_blob, after_blob, _ = row
    added, deleted = status == "A", status == "D"
    return FileChange(
        before=None if added else paths[0],
        after=None if deleted else paths[-1],
        before_blob=None if added else before_blob,
        after_blob=None if deleted else after_blob,
        before_mode=None if added else before_mode,
        after_mode=None if deleted else after_mode,
    )


def _tree_entry(field: bytes) -> Entry:
    row, _, path = field.partition(b"\t")
    mode, _, blob = row.decode("ascii").split(" ")
    return Entry(_path(path), mode, blob)


def _path(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
