"""What changed in a repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from git_repositories import sources_of

from winnow_engine.changes.changed import Changes
from winnow_engine.changes.reading import read_changes
from winnow_engine.core import Cancellation
from winnow_engine.index.workspace import Workspace


@pytest.fixture
def changes(read: Callable[..., Workspace]) -> Callable[..., Changes]:
    """What changed in the repository at a folder."""

    def of(root: Path, asked: str = "", **open_documents: bytes) -> Changes:
        return read_changes(sources_of(root, **open_documents), read(root, **open_documents), asked, Cancellation())

    return of
