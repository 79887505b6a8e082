"""What the tests of changes share: a workspace read from a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from git_repositories import sources_of

from winnow_engine.changes.changed import Changes
from winnow_engine.changes.reading import read_changes
from winnow_engine.core import Cancellation
from winnow_engine.index.workspace import Workspace, read_workspace
from winnow_engine.storage.store import Store

Read = Callable[..., Workspace]


@pytest.fixture
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Reads the workspace of some folders."""
    store = Store(tmp_path_factory.mktemp("store") / "index.sqlite")

    def reading(*roots: Path, **more: bytes) -> Workspace:
        return read_workspace(sources_of(*roots, **more), store, Cancellation())

    return reading


@pytest.fixture
def changes(read: Read) -> Callable[..., Changes]:
    """What changed in the repository at a folder."""

    def of(root: Path, asked: str = "", **open_documents: bytes) -> Changes:
        return read_changes(sources_of(root, **open_documents), read(root, **open_documents), asked, Cancellation())

    return of
