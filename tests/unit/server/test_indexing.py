"""What the indexer says of itself, on a real queue with an index that ends when told."""

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from lsprotocol import types

from winnow_engine.core import Cancellation, Progress, ignore
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.ranking import SelectionStats
from winnow_lsp.host.queue import Queue
from winnow_lsp.server.render.progress_bars import ProgressBars
from winnow_lsp.server.render.status import IndexState
from winnow_lsp.server.session import indexing
from winnow_lsp.server.session.indexing import Indexer

PATIENCE_S = 120


FILE = IndexedFile.of("a.py", "a.py", b"")


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
    engine = SimpleNamespace(queue=queue, assistant=lambda: assistant)
    editor = SimpleNamespace(
        sources=lambda _folders: None,
        folders=SimpleNamespace(roots=("root",)),
        settings=SimpleNamespace(index_automatic="always"),
    )
    bars = ProgressBars(
        SimpleNamespace(client_capabilities=types.ClientCapabilities(), work_done_progress=None), lambda: None
    )
    made = Indexer(editor, lambda: asyncio.sleep(0, engine), bars, lambda: None)
    yield made
    await made.stop()
    queue.close()


async def test_progress_shows_how_far_it_is(indexer: Indexer, assistant: Slow) -> None:
    task = asyncio.create_task(indexer.run(ignore))
    assert await asyncio.to_thread(assistant.started.wait, PATIENCE_S)
    assert indexer.state.working
    assistant.go.set()
    await task
    assert not indexer.state.working
    assert indexer.state == IndexState(Progress("index", 2, 2, 30, 60), stale_files=0, working=False, error=None)


async def test_what_changed_before_it_began_is_fresh_afterwards_what_changed_since_is_not(indexer, assistant) -> None:
    indexer.stale.update({"a", "b"})
    task = asyncio.create_task(indexer.run(ignore))
    assert await asyncio.to_thread(assistant.started.wait, PATIENCE_S)
    indexer.stale.add("c")
    assistant.go.set()
    await task
    assert (indexer.stale, indexer.state.stale_files) == ({"c"}, 1)


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


@pytest.mark.parametrize("where", ["off", "battery", "~"])
async def test_indexing_stops_where_it_is_off_on_battery_and_in_a_home(indexer, assistant, monkeypatch, where) -> None:
    monkeypatch.setattr("psutil.sensors_battery", lambda: SimpleNamespace(power_plugged=where != "battery"))
    indexer.start()
    assert await asyncio.to_thread(assistant.started.wait, PATIENCE_S)
    indexer._editor.settings.index_automatic = "off" if where == "off" else "idle"
    indexer._editor.folders.roots = (Path(where).expanduser(),)
    indexer.start()
    async with asyncio.timeout(PATIENCE_S):
        while indexer.state.working:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("asked", [True, False])
async def test_a_home_is_indexed_once_somebody_asks_and_beside_another_folder(indexer, assistant, asked: bool) -> None:
    indexer._editor.settings.index_automatic = "idle"
    indexer._editor.folders.roots = (Path.home(),) if asked else (Path.home(), Path("a"))
    indexer.start()
    if asked:
        assert not indexer.state.working
        indexer.answered(frozenset(), SelectionStats(2, 1, 1))
    assert await asyncio.to_thread(assistant.started.wait, PATIENCE_S)
