"""Effects of a commit on the file and lines that a question is about, and on other files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from winnow_engine.changes.changed import ChangedFile
from winnow_engine.changes.lines import Hunk
from winnow_engine.core import Folder
from winnow_engine.errors import GitError
from winnow_engine.git.objects import Commit, blobs, existing
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import FileChange, tree_changes
from winnow_engine.untrusted import printable

_MOST_FILES = 200  # of a commit with more, only these are listed and searched


@dataclass(frozen=True)
class CommitEffect:
    """A commit with what it did to the lines that are asked about.

    `lines` are theirs in the file that the commit left, at the workspace path `path`. `file` is the change of that
    file, `hunks` the part of it that made these lines, and `units` the names of functions to mention. `others` are
    paths of other files that the commit touched. `level` counts the commits between this and the lines of today.
    """

    commit: Commit
    path: str
    lines: tuple[int, ...]
    file: ChangedFile | None
    others: tuple[str, ...]
    hunks: tuple[Hunk, ...]
    units: tuple[str, ...] = ()
    level: int = 0


@dataclass(frozen=True)
class FolderHistory:
    """A repository's history with the paths of a workspace folder in it."""

    repository: Repository
    folder: Folder

    def parent(self, commit: Commit) -> str | None:
        """The first parent, None for a commit without one in this clone."""
        first = commit.parents[:1]
        return first[0] if first and existing(self.repository.git, first) else None

    def path(self, path: str) -> str:
        """The workspace path of a file given from the repository's top; one outside the folder keeps its own."""
        prefix = self.repository.prefix
        inside = path.startswith(prefix)
        return printable(self.folder.workspace_path(path.removeprefix(prefix)) if inside else path)

    def changes(self, commit: Commit, parent: str | None) -> list[FileChange]:
        """The files that a commit changed, all of them for one without a parent; no renames in a partial clone."""
        before = parent or self.repository.empty_tree
        try:
            return tree_changes(self.repository, before, commit.id)
        except GitError:  # files are compared to find renames, and a partial clone lacks some
            return tree_changes(self.repository, before, commit.id, renames=False)

    def others(self, changes: Iterable[FileChange], file: FileChange | None) -> tuple[str, ...]:
        """The workspace paths of changed files besides one."""
        return tuple(self.path(one.path) for one in list(changes)[:_MOST_FILES] if one is not file)

    def changed_files(self, changes: Iterable[FileChange]) -> list[ChangedFile | None]:
        """The contents on both sides of files; None for links and submodules."""
        listed = list(changes)
        read = [blob for one in listed if one.regular for blob in (one.before_blob, one.after_blob) if blob]
        contents = blobs(self.repository.git, read)
        return [ChangedFile.of(one, contents, self.path) if one.regular else None for one in listed]
