"""JSON-RPC on a server that has no models: who gets which answer, whatever comes."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from winnow_lsp.server.features import register_all
from winnow_lsp.server.server import WinnowServer

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
NOT_INITIALIZED = -32002

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}


class NoModels:
    """The engines of a process in which nobody gets to ask."""

    def acquire(self, _models: object) -> None:
        pytest.fail("a model was asked for")


class Outbox:
    """Keeps what the server sends, as JSON."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        header, _, body = data.partition(b"\r\n\r\n")
        assert header.startswith(b"Content-Length: %d\r\n" % len(body))
        self.messages.append(json.loads(body))

    def close(self) -> None:
        pytest.fail("the transport closes the outbox")


class Talk:
    """A conversation: what goes in, and what came out."""

    def __init__(self) -> None:
        self.outbox, self.server = Outbox(), WinnowServer(NoModels())
        register_all(self.server)
        self.server.protocol.set_writer(self.outbox)

    def say(self, *messages: object) -> "Talk":
        for message in messages:
            self.server.protocol.receive(message if isinstance(message, bytes) else json.dumps(message).encode())
        return self

    async def hear(self) -> list[dict[str, Any]]:
        """What the server has sent once its handlers are through."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)
        return self.outbox.messages

    async def code(self) -> int:
        """The code of the one error that was sent last."""
        return (await self.hear())[-1]["error"]["code"]


@pytest.fixture
async def talk() -> Talk:
    return Talk()


@pytest.fixture
async def started(talk: Talk) -> Talk:
    talk.say(INITIALIZE)
    await talk.hear()
    talk.outbox.messages.clear()
    return talk


def request(method: str, params: object = None, identity: object = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def notification(method: str, params: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


@pytest.mark.parametrize("body", [b"", b"{", b"nonsense", b"\xff\xfe", b"[" * 100_000, b'{"a": 1}}'])
async def test_what_is_no_json_gets_a_parse_error(started: Talk, body: bytes) -> None:
    (answer,) = await started.say(body).hear()
    assert (answer["id"], answer["error"]["code"]) == (None, PARSE_ERROR)


@pytest.mark.parametrize(
    "message",
    [
        5,
        [],
        [request("shutdown")],
        "initialize",
        None,
        {},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": 5},
        {"id": 1, "method": "shutdown"},
        {"jsonrpc": "1.0", "id": 1, "method": "shutdown"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "shutdown"},
        {"jsonrpc": "2.0", "id": True, "method": "shutdown"},
        {"jsonrpc": "2.0", "id": {}, "method": "shutdown"},
    ],
)
async def test_what_is_no_message_is_an_invalid_request(started: Talk, message: object) -> None:
    assert await started.say(message).code() == INVALID_REQUEST


@pytest.mark.parametrize("method", ["winnow/ask", "shutdown", "no/such"])
async def test_before_initialize_only_exit_is_heeded(talk: Talk, method: str) -> None:
    (answer,) = await talk.say(notification("textDocument/didOpen", {}), request(method)).hear()
    assert answer["error"]["code"] == NOT_INITIALIZED
    talk.say(notification("exit"))
    assert (talk.server.protocol.left, talk.server.protocol.orderly) == (True, False)


async def test_a_session_is_initialized_once_and_bad_parameters_do_not_count(talk: Talk) -> None:
    assert await talk.say(INITIALIZE | {"params": {"capabilities": 5}}).code() == INVALID_PARAMS
    (_, answer) = await talk.say(INITIALIZE).hear()
    assert answer["result"]["serverInfo"]["name"] == "winnow"
    assert await talk.say(INITIALIZE).code() == INVALID_REQUEST


async def test_after_shutdown_only_exit_is_heeded(started: Talk) -> None:
    assert await started.say(request("shutdown"), request("winnow/ask", {"question": "?"}, 2)).code() == INVALID_REQUEST
    assert not started.server.protocol.left
    started.say(notification("exit"))
    assert (started.server.protocol.left, started.server.protocol.orderly) == (True, True)


@pytest.mark.parametrize("method", ["no/such", "exit", "textDocument/didOpen"])
async def test_what_is_no_request_is_not_found_and_an_unknown_notification_is_ignored(
    started: Talk, method: str
) -> None:
    started.say(notification("no/such", {}), notification("$/such", {}))
    assert await started.say(request(method, {})).code() == METHOD_NOT_FOUND
    assert not started.server.protocol.left


@pytest.mark.parametrize("method", ["winnow/ask", "winnow/spans"])
@pytest.mark.parametrize(
    ("params", "words"),
    [(None, "params must be an object"), ([], "params must be an object"), ({}, "give a question"),
     ({"question": ["?"]}, "question must be a string"),
     ({"question": "?", "range": {"start": 5}}, "start must be an object")],
)  # fmt: skip
async def test_bad_parameters_are_explained(started: Talk, method: str, params: object, words: str) -> None:
    (answer,) = await started.say(request(method, params)).hear()
    assert answer["error"]["code"] == INVALID_PARAMS
    assert words in answer["error"]["message"]


@pytest.mark.parametrize("method", sorted(m for m in types.METHOD_TO_TYPES if m.startswith("textDocument/")))
@pytest.mark.parametrize("params", [None, 5, [], "x", {"textDocument": 5}])
async def test_malformed_parameters_of_the_standards_own_requests_are_refused(started, method, params) -> None:
    (answer,) = await started.say(request(method, params)).hear()
    assert answer["error"]["code"] in (INVALID_PARAMS, METHOD_NOT_FOUND)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
async def test_numbers_that_json_cannot_carry_are_no_json(started: Talk, number: str) -> None:
    assert await started.say(json.dumps(request("no/such", "?")).replace('"?"', number).encode()).code() == PARSE_ERROR


async def test_edits_of_a_document_that_is_not_open_are_ignored(started: Talk, tmp_path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    document = {"uri": secret.as_uri(), "version": 2}
    change = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "y"}
    params = {"textDocument": document, "contentChanges": [change]}
    assert await started.say(notification("textDocument/didChange", params)).hear() == []
    assert started.server.workspace.text_documents == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
HARMLESS = [
    "textDocument/codeAction",
    "textDocument/codeLens",
    "textDocument/didOpen",
    "textDocument/didClose",
    "workspace/executeCommand",
    "window/workDoneProgress/cancel",
    "$/cancelRequest",
    "$/setTrace",
    "winnow/status",
]
IDENTITY = st.integers() | st.text()
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(HARMLESS) | st.text()},
    optional={"id": IDENTITY, "params": JSON},
)


async def conversation(messages: list[object], then: Callable[[list[dict[str, Any]]], None]) -> None:
    talk = Talk().say(INITIALIZE, *messages)
    then((await talk.hear())[1:])


@settings(deadline=None)
@given(messages=st.lists(MESSAGES | JSON, max_size=6))
def test_every_request_is_answered_once_and_no_notification_is(messages: list[Any]) -> None:
    calls = [m for m in messages if isinstance(m, dict) and m.get("jsonrpc") == "2.0" and "method" in m]
    expected = [m["id"] for m in calls if "id" in m] + [None] * (len(messages) - len(calls))

    def check(sent: list[dict[str, Any]]) -> None:
        assert sorted(map(repr, (answer["id"] for answer in sent))) == sorted(map(repr, expected))

    asyncio.run(conversation(messages, check))


@settings(deadline=None)
@given(body=st.binary() | st.text().map(str.encode) | JSON.map(lambda v: json.dumps(v)[:-1].encode()))
def test_no_bytes_stop_the_server(body: bytes) -> None:
    def check(sent: list[dict[str, Any]]) -> None:
        assert sent[-1]["error"]["code"] == METHOD_NOT_FOUND

    asyncio.run(conversation([body, request("no/such")], check))
