"""Places of changed lines in the workspace as it is now: later commits may have moved them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from winnow_engine.changes.changed import ChangedFile
from winnow_engine.changes.lines import line_texts, unchanged
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace


@dataclass(frozen=True)
class CurrentLines:
    """A changed file's lines in the workspace. `file` is None if the workspace does not have the file."""

    file: IndexedFile | None
    moved: Mapping[int, int] | None

    def line(self, after: int) -> int | None:
        """The number that a line has now; None if it is there no longer."""
        if self.file is None:
            return None
        return after if self.moved is None else self.moved.get(after)


def current_lines(file: ChangedFile, workspace: Workspace) -> CurrentLines:
    """The table of a file. Nothing is computed for one that is as the change left it."""
    present = workspace.file_at(file.path)
    if present is None or file.after is None:
        return CurrentLines(None, None)
    if present.data == file.after:
        return CurrentLines(present, None)
    return CurrentLines(present, unchanged(file.after_lines, line_texts(present.data)))
