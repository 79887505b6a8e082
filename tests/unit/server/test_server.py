"""What a client's server waits for before its models are replaced."""

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from winnow_engine.config import AUTO, Config, ModelConfig
from winnow_engine.core import Cancellation, ignore
from winnow_engine.index.workspace import Workspace
from winnow_lsp.host.queue import Queue
from winnow_lsp.host.settings import Settings
from winnow_lsp.server.features import asking
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.session.editor import EditorState, Folders
from winnow_lsp.server.wire.protocol import StrictProtocol

PATIENCE_S = 120


class Engines:
    """Hands out engines whose index ends when told, and notes what happens."""

    def __init__(self) -> None:
        self.go, self.started = threading.Event(), threading.Event()
        self.happened, self.freed = list[str](), asyncio.Event()
        self.cancelled, self.cancellation = False, Cancellation()

    def use(self, config: Config, _client: object) -> None:
        assert not config.shared_indexes

    def leave(self, _client: object) -> None:
        """Nothing to detach."""

    async def named(self, models: object) -> object:
        return models

    def acquire(self, models: object) -> Any:
        return SimpleNamespace(
            models=models,
            queue=Queue(lambda: None),
            assistant=lambda: self,
            watchers=[],
            target=SimpleNamespace(host=None),
        )

    def replace(self, engine: Any) -> None:
        self.happened.append("replaced")

    async def release(self, engine: Any) -> None:
        self.happened.append("released")
        self.freed.set()
        engine.queue.close()

    def index(self, _sources: object, _report: object, cancellation: Cancellation) -> Workspace:
        self.cancellation = cancellation
        self.started.set()
        assert self.go.wait(PATIENCE_S)
        self.happened.append("indexed")
        self.cancelled = cancellation.cancelled
        return Workspace(())

    def ask(self, *_arguments: object, cancellation: Cancellation) -> None:
        self.started.set()
        while not self.go.wait(0.005):
            cancellation.check()


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
    server.editor.configured.set()
    asked = asyncio.create_task(server.indexer.run(ignore))
    assert await asyncio.to_thread(engines.started.wait, PATIENCE_S)
    other, problems = Settings.read({"winnow": {"target": "other.gguf"}})
    assert not problems
    using = asyncio.create_task(server.use(other))
    for _ in range(20):
        await asyncio.sleep(0)
    engines.go.set()
    await asyncio.wait_for(asyncio.gather(asked, using), PATIENCE_S)
    assert engines.happened == ["replaced", "indexed", "released"]


async def test_models_that_are_replaced_read_nothing_ahead(
    server: WinnowServer, engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "on_battery", lambda: False)
    server.editor.configured.set()
    ahead = asyncio.create_task(asking.read_ahead(server, "What does delivery cost?"))
    assert await asyncio.to_thread(engines.started.wait, PATIENCE_S)
    try:
        await asyncio.wait_for(server.use(Settings.read({"winnow": {"target": "other.gguf"}})[0]), PATIENCE_S)
    finally:
        engines.go.set()
    assert not await ahead


@pytest.mark.parametrize("configured", [False, True])
async def test_a_question_for_the_next_models_is_not_waited_for(
    configured: bool, server: WinnowServer, engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[asyncio.Task[None]]()

    async def ask() -> None:
        with server.questions.unfinished(supersedes=False):
            await engines.freed.wait()  # as the next target does

    async def begin() -> None:
        asked.append(asyncio.create_task(ask()))
        await asyncio.sleep(0)

    if configured:
        server.editor.configured.set()
        monkeypatch.setattr(server.indexer, "stop", begin)
    else:
        await begin()
    await server.acquire()
    await asyncio.wait_for(server.use(Settings.read({"winnow": {"target": "other.gguf"}})[0]), PATIENCE_S)
    await asked[0]


async def test_settings_that_come_while_a_target_is_looked_up_are_those_that_count(
    server: WinnowServer, engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = asyncio.Event()

    async def named(models: ModelConfig) -> ModelConfig:
        if models.target == AUTO:
            await found.wait()
        return models

    monkeypatch.setattr(engines, "named", named)
    asked = asyncio.create_task(server.acquire())
    await asyncio.sleep(0)
    using = asyncio.create_task(server.use(Settings.read({"winnow": {"target": "other.gguf"}})[0]))
    await asyncio.sleep(0)
    found.set()
    await using
    assert ((await asked).models.target, engines.happened) == ("other.gguf", []), "nothing opened for the earlier ones"


async def leaving_while_indexing(
    engines: Engines, monkeypatch: pytest.MonkeyPatch, *, lingers: bool, orderly: bool
) -> asyncio.Task[None]:
    """A server that is about to end, but whose index is under way until `engines.go`."""
    monkeypatch.setattr(EditorState, "sources", lambda _self, _folders: None)
    monkeypatch.setattr(Folders, "roots", (Path("root"),))
    monkeypatch.setattr(StrictProtocol, "orderly", orderly)
    server = WinnowServer(engines, lingers=lingers)  # type: ignore[arg-type]
    server.status.close()
    monkeypatch.setattr(server.bars, "new_token", lambda: asyncio.sleep(0))
    server.indexer.start()
    assert await asyncio.to_thread(engines.started.wait, PATIENCE_S)
    waits, finish = asyncio.Event(), server.indexer.finish

    async def finishing() -> None:
        waits.set()
        await finish()

    monkeypatch.setattr(server.indexer, "finish", finishing)
    leaving = asyncio.create_task(server.leave())
    async with asyncio.timeout(PATIENCE_S):
        while not waits.is_set() and not engines.cancellation.cancelled:
            await asyncio.sleep(0)
    return leaving


@pytest.mark.parametrize(("lingers", "orderly"), [(True, True), (True, False), (False, True)])
async def test_an_index_is_completed_for_a_command_that_has_left_in_order(
    lingers: bool, orderly: bool, engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving = await leaving_while_indexing(engines, monkeypatch, lingers=lingers, orderly=orderly)
    assert not leaving.done()
    engines.go.set()
    await leaving
    assert engines.happened == ["indexed", "released"]
    assert engines.cancelled == (not (lingers and orderly))


async def test_a_stopped_server_does_not_complete_an_index(engines: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    leaving = await leaving_while_indexing(engines, monkeypatch, lingers=True, orderly=True)
    leaving.cancel()
    engines.go.set()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert engines.happened[-1] == "released"
