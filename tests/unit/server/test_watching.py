"""The system's watcher, on real files."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from lsprotocol import types

from winnow_lsp.server.session.folders import Folders
from winnow_lsp.server.session.watching import Watcher

PATIENCE_S = 30


class Server:
    """A server without a client's watcher, that keeps which files are said to have changed."""

    def __init__(self, *roots: Path) -> None:
        self.loop, self.left = asyncio.get_running_loop(), False
        self.client_capabilities = types.ClientCapabilities()
        self.folders = Folders()
        self.folders = self.folders.changed(types.WorkspaceFolder(root.as_uri(), root.name) for root in roots)
        self.changed: set[str] = set()
        self.indexer = SimpleNamespace(changed=self.changed.update)
        self.watcher = Watcher(self)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await asyncio.sleep(0.01)


def observers() -> int:
    """How many threads watch."""
    return sum("Observer" in type(thread).__name__ for thread in threading.enumerate())


@pytest.fixture
async def server(tmp_path: Path):
    made = Server(tmp_path)
    yield made
    made.watcher.stop()
    await made.until(lambda: not observers())


async def test_files_that_come_change_move_and_go_are_noticed(server: Server, tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("x")
    await server.watcher.start()
    (tmp_path / "new.py").write_text("x")
    (tmp_path / "new.py").rename(tmp_path / "moved.py")
    (tmp_path / "old.py").unlink()
    expected = {(tmp_path / name).as_uri() for name in ("new.py", "moved.py", "old.py")}
    await server.until(lambda: server.changed == expected)


async def test_what_does_not_count_is_not(server: Server, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    await server.watcher.start()
    for name in (".git/index", "picture.png", "src/last.py"):
        (tmp_path / name).write_text("x")
    await server.until(lambda: bool(server.changed))
    assert server.changed == {(tmp_path / "src" / "last.py").as_uri()}


async def test_watching_again_takes_the_place_of_watching_before(server: Server) -> None:
    await asyncio.gather(*(server.watcher.start() for _ in range(3)))
    await server.until(lambda: observers() == 1)


async def test_a_client_that_has_left_meanwhile_is_not_watched_for(server: Server) -> None:
    starting = asyncio.create_task(server.watcher.start())
    await asyncio.sleep(0)
    server.left = True
    server.watcher.stop()
    await starting
    await server.until(lambda: not observers())


async def test_a_folder_that_is_not_there_does_not_stop_the_others(tmp_path: Path) -> None:
    server = Server(tmp_path / "gone", tmp_path)
    await server.watcher.start()
    (tmp_path / "a.py").write_text("x")
    await server.until(lambda: bool(server.changed))
    server.watcher.stop()
