"""What a client's server waits for before its models are replaced."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from winnow_engine.core import Cancellation, ignore_progress
from winnow_engine.index.workspace import Workspace
from winnow_lsp.host.queue import Queue
from winnow_lsp.host.settings import Settings
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.session.editor import EditorState

PATIENCE_S = 30


class Engines:
    """Hands out engines whose index ends when told, and notes what happens."""

    def __init__(self) -> None:
        self.go, self.started = threading.Event(), threading.Event()
        self.happened: list[str] = []

    def acquire(self, models: object) -> Any:
        return SimpleNamespace(
            models=models,
            queue=Queue(lambda: None),
            assistant=lambda: self,
            watch=lambda _: None,
            unwatch=lambda _: None,
            target=SimpleNamespace(host=None),
        )

    async def release(self, engine: Any) -> None:
        self.happened.append("released")
        engine.queue.close()

    def index(self, _sources: object, _report: object, cancellation: Cancellation) -> Workspace:
        self.started.set()
        assert self.go.wait(PATIENCE_S)
        self.happened.append("indexed")
        return Workspace(())


@pytest.fixture
def engines() -> Engines:
    return Engines()


@pytest.fixture
async def server(engines: Engines, monkeypatch: pytest.MonkeyPatch) -> WinnowServer:
    monkeypatch.setattr(EditorState, "sources", lambda _self, _folders: None)
    made = WinnowServer(engines)  # type: ignore[arg-type]
    made.status.close()
    return made


async def test_models_are_not_freed_while_an_index_that_was_asked_for_needs_them(
    server: WinnowServer, engines: Engines
) -> None:
    asked = asyncio.create_task(server.indexer.run(ignore_progress))
    assert await asyncio.to_thread(engines.started.wait, PATIENCE_S)
    other, problems = Settings.read({"winnow": {"target": "other.gguf"}})
    assert not problems
    using = asyncio.create_task(server.use(other))
    for _ in range(20):
        await asyncio.sleep(0)
    engines.go.set()
    await asyncio.wait_for(asyncio.gather(asked, using), PATIENCE_S)
    assert engines.happened == ["indexed", "released"]
