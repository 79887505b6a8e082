"""Bytes that no client would send: each gets its error, and the server lives on."""

import asyncio
import json
from pathlib import Path

import pytest
import pytest_asyncio

from .client import RawClient

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

INITIALIZE = {"capabilities": {}, "initializationOptions": {"drafter": "no-such-model", "target": "no-such-model"}}


@pytest_asyncio.fixture(loop_scope="session")
async def started(raw: RawClient) -> RawClient:
    """A connection after `initialize`."""
    await raw.call("initialize", INITIALIZE)
    return raw


async def test_folders_that_are_no_files_are_told_and_left_out(raw: RawClient) -> None:
    folders = [{"uri": "vscode-remote://ssh/x", "name": "x"}]
    assert "result" in await raw.call("initialize", INITIALIZE | {"workspaceFolders": folders})


@pytest.mark.parametrize(
    "data",
    [
        b'Content-Type: application/json\r\n\r\n{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}\r\n',
        b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length: 999999999999\r\n\r\n",
        b"x" * 100_000,
    ],
    ids=["no length", "http", "too long", "no header"],
)
async def test_a_stream_out_of_step_is_closed_and_others_live_on(started: RawClient, on_tcp, data: bytes) -> None:
    started.writer.write(data)
    assert await started.receive() is None
    assert (await on_tcp.spans("Anything?"))["spans"]


async def test_several_messages_may_come_at_once_and_one_in_pieces(started: RawClient) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": "x", "method": "no/such"}).encode()
    framed = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    for piece in (framed * 2 + framed[:10], framed[10:-5], framed[-5:]):
        started.writer.write(piece)
        await started.writer.drain()
    assert [(await started.receive())["id"] for _ in range(3)] == ["x"] * 3


async def test_parameters_may_be_left_out(started: RawClient) -> None:
    started.send({"jsonrpc": "2.0", "method": "initialized"})
    assert "no folder is open" in (await started.call("winnow/symbols", {"query": "x"}))["error"]["message"]


async def test_a_client_that_never_reads_is_not_waited_for(address, on_tcp, folder: Path) -> None:
    _, writer = await asyncio.open_connection(*address)
    silent = RawClient(_, writer)
    for number in range(1000):
        silent.send({"jsonrpc": "2.0", "id": number, "method": "no/such"})
    assert (await on_tcp.spans("Anything?"))["spans"]
    await silent.close()
