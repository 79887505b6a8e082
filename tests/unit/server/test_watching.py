"""The system's watcher, on real files."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from lsprotocol import types

from winnow_lsp.server.session.folders import Folders
from winnow_lsp.server.session.watching import FileWatcher

PATIENCE_S = 30


class Watched:
    """Folders with a watcher, as for a client that cannot watch; keeps which files are said to have changed."""

    def __init__(self, *roots: Path) -> None:
        folders = Folders().changed(types.WorkspaceFolder(root.as_uri(), root.name) for root in roots)
        client = SimpleNamespace(client_capabilities=types.ClientCapabilities())
        self.changed: set[str] = set()
        self.watcher = FileWatcher(SimpleNamespace(folders=folders), client, self.changed.update)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await asyncio.sleep(0.01)


def observers() -> int:
    """How many threads watch."""
    return sum("Observer" in type(thread).__name__ for thread in threading.enumerate())


@pytest.fixture
async def watched(tmp_path: Path):
    made = Watched(tmp_path)
    yield made
    made.watcher.close()
    await made.until(lambda: not observers())


async def test_files_that_come_change_move_and_go_are_noticed(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("x")
    await watched.watcher.start()
    (tmp_path / "new.py").write_text("x")
    (tmp_path / "new.py").rename(tmp_path / "moved.py")
    (tmp_path / "old.py").unlink()
    expected = {(tmp_path / name).as_uri() for name in ("new.py", "moved.py", "old.py")}
    await watched.until(lambda: watched.changed == expected)


async def test_what_does_not_count_is_not(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    await watched.watcher.start()
    for name in (".git/index", "picture.png", "src/last.py"):
        (tmp_path / name).write_text("x")
    await watched.until(lambda: bool(watched.changed))
    assert watched.changed == {(tmp_path / "src" / "last.py").as_uri()}


async def test_watching_again_takes_the_place_of_watching_before(watched: Watched) -> None:
    await asyncio.gather(*(watched.watcher.start() for _ in range(3)))
    await watched.until(lambda: observers() == 1)


async def test_a_client_that_has_left_meanwhile_is_not_watched_for(watched: Watched) -> None:
    starting = asyncio.create_task(watched.watcher.start())
    await asyncio.sleep(0)
    watched.watcher.close()
    await starting
    await watched.until(lambda: not observers())


async def test_a_folder_that_is_not_there_does_not_stop_the_others(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "gone", tmp_path)
    await watched.watcher.start()
    (tmp_path / "a.py").write_text("x")
    await watched.until(lambda: bool(watched.changed))
    watched.watcher.close()
