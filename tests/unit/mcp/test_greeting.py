"""`initialize` is answered before the SDK is imported, and as the SDK would."""

import json
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from winnow_engine.config import FileRules
from winnow_lsp.mcp.greeting import VERSIONS, greeting
from winnow_lsp.mcp.server import make_server
from winnow_lsp.mcp.workspace import Workspaces


class Nothing:
    """A repository that is not asked anything."""

    def index(self, sources: object) -> None:
        raise AssertionError(sources)


def hello(version: object = "2025-06-18", identity: object = 0) -> bytes:
    client = {"name": "editor", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": "initialize", "params": params}).encode()


async def answer(server: Server, line: bytes) -> object:
    """What the SDK answers."""
    sent, received = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    out, replies = anyio.create_memory_object_stream[SessionMessage](1)
    async with anyio.create_task_group() as tasks, replies, sent:
        tasks.start_soon(server.run, received, out, server.create_initialization_options())
        await sent.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(line)))
        reply = await replies.receive()
        await sent.aclose()
    return json.loads(reply.message.model_dump_json(by_alias=True, exclude_unset=True))


def test_all_versions_that_begin_with_a_handshake_are_known() -> None:
    assert VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_greeting_is_what_the_sdk_would_say(version: str) -> None:
    server = make_server(Nothing(), Workspaces(Path(), FileRules()))  # type: ignore[arg-type]
    greeted = greeting(hello(version, "a"))
    assert greeted is not None
    assert greeted[0] == "a"
    assert greeted[1].endswith(b"}\n")
    assert json.loads(greeted[1]) == await answer(server, hello(version, "a"))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'"initialize"',
        hello("1999-01-01"),
        hello(None),
        hello(identity=None),
        b"[" * 100_000,
        hello().replace(b"initialize", b"ping"),
        hello().replace(b'"params"', b'"other"'),
    ],
)
def test_anything_else_is_left_to_the_server(line: bytes) -> None:
    assert greeting(line) is None
