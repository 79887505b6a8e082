"""Changed files between two states of a workspace's folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from winnow_engine.changes.lines import Hunk, hunks, line_texts
from winnow_engine.git.trees import FileChange
from winnow_engine.index.file_text import file_text


@dataclass(frozen=True)
class ChangedFile:
    """A file that differs, with workspace paths. `path` of a removed file is the one that it had.

    `before` and `after` are contents, None where there is no file, or if `unread` gives a reason not to read it.
    """

    path: str
    before_path: str | None
    before: bytes | None
    after: bytes | None
    removed: bool = False
    unread: str = ""

    @classmethod
    def of(
        cls, change: FileChange, contents: Mapping[str, bytes], path_of: Callable[[str], str] = str, unread: str = ""
    ) -> ChangedFile:
        """The file of a difference between trees. `contents` are by blob, `path_of` gives workspace paths."""
        before = _text(change.before or change.path, contents.get(change.before_blob or ""))
        after = _text(change.path, contents.get(change.after_blob or ""))
        before_path = None if change.before is None else path_of(change.before)
        return cls(path_of(change.path), before_path, before, after, change.after is None, unread)

    @property
    def added(self) -> bool:
        """True for a new file."""
        return self.before_path is None

    @property
    def renamed(self) -> bool:
        """True if it had another path."""
        return self.before_path not in (None, self.path)

    @property
    def what(self) -> str:
        """The kind of change, in a few words."""
        if self.added or self.removed:
            return "new file" if self.added else "file removed"
        return f"renamed from {self.before_path}" if self.renamed else "changed"

    @cached_property
    def before_lines(self) -> list[bytes]:
        """The lines before, without their ends."""
        return line_texts(self.before)

    @cached_property
    def after_lines(self) -> list[bytes]:
        """The lines after, without their ends."""
        return line_texts(self.after)

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """The lines that differ."""
        return hunks(self.before_lines, self.after_lines)


def _text(path: str, data: bytes | None) -> bytes | None:
    return None if data is None else file_text(path, data)[0]


@dataclass(frozen=True)
class Changes:
    """The files that differ between two states, in path order.

    `title` names the states. `revision` is the commit that the lines before are in, as people name it, "" before the
    first commit; `commit` its object id.
    """

    title: str
    revision: str
    commit: str
    files: tuple[ChangedFile, ...]
