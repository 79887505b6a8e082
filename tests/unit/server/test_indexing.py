"""What the indexer says of itself, on a real queue with an index that ends when told."""

import asyncio
import threading
from types import SimpleNamespace

import pytest
from lsprotocol import types

from winnow_engine.core import Cancellation, Progress
from winnow_engine.errors import WorkspaceError
from winnow_engine.index.symbols import analyse
from winnow_engine.index.workspace import IndexedFile, Workspace
from winnow_lsp.host.queue import Queue
from winnow_lsp.server.session import indexing
from winnow_lsp.server.session.indexing import Indexer

PATIENCE_S = 30


FILE = IndexedFile("a.py", "a.py", b"", "key", analyse("a.py", b""))


class Slow:
    """An assistant whose index ends when told, or fails."""

    def __init__(self) -> None:
        self.go, self.started = threading.Event(), threading.Event()
        self.error: Exception | None = None

    def index(self, _sources: object, report, cancellation: Cancellation) -> Workspace:
        report(Progress("index", 1, 2, 30, 60))
        self.started.set()
        while not self.go.wait(0.005):
            cancellation.check()
        if self.error:
            raise self.error
        return Workspace((FILE, FILE))


@pytest.fixture
def assistant() -> Slow:
    return Slow()


@pytest.fixture
async def indexer(assistant: Slow):
    queue = Queue(lambda: None)
    made = Indexer(
        SimpleNamespace(
            engine=SimpleNamespace(queue=queue, assistant=lambda: assistant),
            sources=lambda _folders: None,
            status=SimpleNamespace(changed=lambda: None),
            loop=asyncio.get_running_loop(),
            folders=SimpleNamespace(roots=("root",)),
            settings=SimpleNamespace(index_automatic=True),
            client_capabilities=types.ClientCapabilities(),
        )
    )
    yield made
    await made.stop()
    queue.close()


SILENT = SimpleNamespace(report=lambda _: None)


async def test_progress_shows_how_far_it_is(indexer: Indexer, assistant: Slow) -> None:
    task = asyncio.create_task(indexer.run(SILENT))
    assert await asyncio.to_thread(assistant.started.wait, PATIENCE_S)
    assert indexer.running
    assistant.go.set()
    await task
    assert not indexer.running
    assert indexer.progress == {"done": 2, "total": 2, "tokens": 30, "totalTokens": 60, "staleFiles": 0}


async def test_it_runs_until_the_last_of_several_runs_has_ended(indexer: Indexer, assistant: Slow) -> None:
    first, second = (asyncio.create_task(indexer.run(SILENT)) for _ in range(2))
    assert await asyncio.to_thread(assistant.started.wait, PATIENCE_S)
    first.cancel()
    await asyncio.wait([first])
    assert indexer.running
    assistant.go.set()
    await second
    assert not indexer.running


async def test_what_changed_before_it_began_is_fresh_afterwards_and_what_changed_since_is_not(
    indexer, assistant
) -> None:
    indexer.stale.update({"a", "b"})
    task = asyncio.create_task(indexer.run(SILENT))
    assert await asyncio.to_thread(assistant.started.wait, PATIENCE_S)
    indexer.stale.add("c")
    assistant.go.set()
    await task
    assert (indexer.stale, indexer.progress["staleFiles"]) == ({"c"}, 1)


async def test_an_error_is_kept_until_the_next_run(indexer: Indexer, assistant: Slow) -> None:
    assistant.error = WorkspaceError("no file counts")
    assistant.go.set()
    with pytest.raises(WorkspaceError, match="no file counts"):
        await indexer.run(SILENT)
    assert (indexer.error, bool(indexer.running)) == ("no file counts", False)
    assistant.error = None
    await indexer.run(SILENT)
    assert indexer.error is None


async def test_changes_that_never_cease_neither_end_a_run_nor_put_it_off_for_ever(
    indexer: Indexer, assistant: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_SETTLE_S", 0.1)
    monkeypatch.setattr(indexing, "_MOST_S", 0.3)
    async with asyncio.timeout(PATIENCE_S):
        while not assistant.started.is_set():
            indexer.changed(["a"])
            await asyncio.sleep(0.01)
        indexer.changed(["b"])
        assistant.go.set()
        while indexer.stale:
            await asyncio.sleep(0.01)


async def test_indexing_stops_where_it_is_turned_off(indexer: Indexer, assistant: Slow) -> None:
    indexer.start()
    assert await asyncio.to_thread(assistant.started.wait, PATIENCE_S)
    indexer._server.settings.index_automatic = False
    indexer.start()
    async with asyncio.timeout(PATIENCE_S):
        while indexer.working:
            await asyncio.sleep(0.01)
