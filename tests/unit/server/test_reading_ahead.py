"""When the target reads ahead, without models."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from winnow_engine.core import Cancellation
from winnow_engine.errors import PositionError
from winnow_engine.question import Cursor, Turn
from winnow_lsp.host.settings import Settings
from winnow_lsp.server.features import reading_ahead
from winnow_lsp.server.session.folders import Folders
from winnow_lsp.server.wire.messages import AskedFrom

HERE = {"textDocument": {"uri": "file:///repo/a.py"}, "position": {"line": 4, "character": 0}}


class Assistant:
    """Notes what it is told to read."""

    def __init__(self) -> None:
        self.read: list[Cursor | None] = []

    def read_ahead(self, _sources: object, cursor: Cursor | None, _cancellation: Cancellation) -> int:
        self.read.append(cursor)
        if cursor and cursor.path == "gone.py":
            raise PositionError("there is no such file")
        return 40


class Server:
    """A server whose queue is idle."""

    def __init__(self) -> None:
        folder = SimpleNamespace(uri="file:///repo", name="repo")
        self.assistant, self.conversations = Assistant(), {"c": [Turn("Why?", "So.")]}
        folders = Folders().changed([folder])  # type: ignore[list-item]
        self.editor: Any = SimpleNamespace(configured=asyncio.Event(), settings=Settings(), folders=folders)
        self.editor.sources = lambda _: None
        self.editor.configured.set()
        self.engine = SimpleNamespace(queue=self, assistant=lambda: self.assistant)
        self.handler: Any = None

    def feature(self, _method: str) -> Any:
        return lambda handler: setattr(self, "handler", handler)

    async def spare(self, prepare: Any) -> Any:
        return prepare()(Cancellation())


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(reading_ahead.psutil, "sensors_battery", lambda: None, raising=False)
    reading_ahead.register(made)  # type: ignore[arg-type]
    return made


async def test_the_code_at_the_cursor_is_read(server: Server) -> None:
    await server.handler(AskedFrom.read(HERE))
    await server.handler(AskedFrom.read({}))
    assert server.assistant.read == [Cursor("a.py", 5, 5), None]


async def test_a_conversation_that_goes_on_is_left_alone(server: Server) -> None:
    await server.handler(AskedFrom.read(HERE | {"conversation": "c"}))
    assert server.assistant.read == []
    await server.handler(AskedFrom.read(HERE | {"conversation": "new"}))
    assert len(server.assistant.read) == 1


async def test_a_setting_turns_it_off(server: Server) -> None:
    server.editor.settings = Settings(read_ahead=False)
    await server.handler(AskedFrom.read(HERE))
    assert server.assistant.read == []


@pytest.mark.parametrize(("plugged", "reads"), [(True, 1), (None, 1), (False, 0)])
async def test_never_on_battery(plugged: bool, reads: int, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    battery = SimpleNamespace(power_plugged=plugged)
    monkeypatch.setattr(reading_ahead.psutil, "sensors_battery", lambda: battery, raising=False)
    await server.handler(AskedFrom.read(HERE))
    assert len(server.assistant.read) == reads


async def test_what_goes_wrong_is_left_to_the_question(server: Server) -> None:
    await server.handler(AskedFrom.read(HERE | {"textDocument": {"uri": "file:///elsewhere/a.py"}}))
    await server.handler(AskedFrom.read(HERE | {"textDocument": {"uri": "file:///repo/gone.py"}}))
    assert server.assistant.read == [Cursor("gone.py", 5, 5)]


@pytest.mark.parametrize(
    "params", [{"textDocument": 1}, {"position": {"line": -1, "character": 0}}, {"conversation": 5}, []]
)
def test_malformed_parameters_are_named(params: Any) -> None:
    with pytest.raises(ValueError, match=r"textDocument|position|conversation|params"):
        AskedFrom.read(params)
