"""`initialize` and `tools/list` are answered before the SDK is imported, and as the SDK would."""

import json
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from winnow_engine.config import FileRules
from winnow_lsp.mcp.relay import STATELESS_VERSION, VERSIONS, Greeting
from winnow_lsp.mcp.serving import make_server
from winnow_lsp.mcp.workspace import Workspaces


def request(method: str, params: object, identity: object = 0) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode()


def hello(version: object = "2025-06-18", identity: object = 0, name: object = "editor") -> bytes:
    client = {"name": name, "version": "1"}
    return request("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client}, identity)


def stateless(name: str = "editor", version: str = STATELESS_VERSION) -> dict[str, object]:
    about = {"protocolVersion": version, "clientCapabilities": {}, "clientInfo": {"name": name, "version": "1"}}
    return {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}


async def answers(*lines: bytes) -> list[object]:
    """What the SDK answers."""
    server = make_server(object(), Workspaces(Path(), FileRules()))  # type: ignore[arg-type]
    sent, received = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    out, replies = anyio.create_memory_object_stream[SessionMessage](1)
    found = []
    async with anyio.create_task_group() as tasks, replies, sent:
        tasks.start_soon(server.run, received, out, server.create_initialization_options())
        for line in lines:
            await sent.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(line)))
            found.append(
                json.loads((await replies.receive()).message.model_dump_json(by_alias=True, exclude_unset=True))
            )
        await sent.aclose()
    return found


@pytest.mark.parametrize("version", [*VERSIONS, "2099-01-01", ""])
@pytest.mark.parametrize("name", ["editor", "claude-code", "\u00e9"])
@pytest.mark.parametrize("params", [None, {}])
async def test_greeting_and_tools_are_what_the_sdk_would_say(version: str, name: str, params: object) -> None:
    greeting, lines = Greeting(), (hello(version, "a", name), request("tools/list", params, 7))
    said = [greeting.answer(line) for line in lines]
    assert all(line and line.endswith(b"}\n") for line in said)
    assert [json.loads(line or b"") for line in said] == await answers(*lines)
    assert (greeting.identity, greeting.listed) == ("a", True)


@pytest.mark.parametrize("name", ["editor", "claude-code"])
@pytest.mark.parametrize("extra", [{}, {"progressToken": 1}])
async def test_stateless_requests_are_answered_as_the_sdk_would(name: str, extra: dict[str, object]) -> None:
    params = {"_meta": {**stateless(name), **extra}}
    greeting, lines = Greeting(), (request("server/discover", params, "a"), request("tools/list", params, 7))
    said = [greeting.answer(line) for line in lines]
    assert [json.loads(line or b"") for line in said] == await answers(*lines)
    assert (greeting.identity, greeting.listed) == (None, True)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'"initialize"',
        hello(None),
        hello(identity=None),
        hello(identity=True),
        hello(name=None),
        b"[" * 100_000,
        request("ping", {}),
        request("tools/list", {}),
        request("tools/list", {"_meta": stateless(version="2099-01-01")}),
        request("tools/list", {"_meta": stateless(), "cursor": "x"}),
        request("tools/call", {"_meta": stateless()}),
        *(request("server/discover", {"_meta": dict(list(stateless().items())[:count])}) for count in range(3)),
        request("initialize", {"protocolVersion": "2025-06-18"}),
        hello().replace(b'"params"', b'"other"'),
        hello().replace(b'"2.0"', b'"1.0"'),
    ],
)
def test_anything_else_is_left_to_the_server(line: bytes) -> None:
    assert Greeting().answer(line) is None


def test_a_second_greeting_and_odd_lists_are_left_to_the_server() -> None:
    greeting = Greeting()
    assert greeting.answer(hello())
    for line in hello(identity=1), request("tools/list", {"cursor": 5}), request("tools/list", [], 2):
        assert greeting.answer(line) is None
    assert not greeting.listed
