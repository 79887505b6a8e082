"""A client's end of a conversation: whole messages out of any chunks, and a server that goes away."""

import asyncio
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from winnow_engine.core import Cancellation
from winnow_engine.errors import CancelledError
from winnow_engine.platform import has_private_sockets, peer
from winnow_lsp.client import connection as asking
from winnow_lsp.client.connection import Connection, ConnectionLostError, NoServerError, running
from winnow_lsp.host.socket_path import ServerFiles, listening
from winnow_lsp.server.wire import transport


@pytest.fixture
def ends() -> Iterator[tuple[Connection, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield Connection(near), far


def framed(message: object) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def test_messages_arrive_whole_however_they_are_cut(ends: tuple[Connection, socket.socket]) -> None:
    connection, server = ends
    stream = framed({"method": "a", "params": "é"}) + framed({"method": "b"}) + framed({"id": 1, "result": None})
    messages = connection.messages()
    found = []
    for start in range(0, len(stream), 7):
        server.sendall(stream[start : start + 7])
        while (message := next(messages)) is not None:
            found.append(message)
    assert [message.get("method") for message in found] == ["a", "b", None]
    assert found[0]["params"] == "é"


def test_a_result_is_found_among_notifications(ends: tuple[Connection, socket.socket]) -> None:
    connection, server = ends
    server.sendall(framed({"method": "winnow/status"}) + framed({"id": 1, "result": {"a": 1}}))
    assert connection.result("initialize", {}, Cancellation()) == {"a": 1}
    server.sendall(framed({"id": 2, "error": {"code": -1, "message": "no such thing"}}))
    with pytest.raises(ConnectionLostError, match="no such thing"):
        connection.result("other", {}, Cancellation())


def test_waiting_for_a_result_can_be_cancelled(ends: tuple[Connection, socket.socket]) -> None:
    connection, cancellation = ends[0], Cancellation()
    cancellation.cancel()
    with pytest.raises(CancelledError):
        connection.result("initialize", {}, cancellation)


@pytest.mark.parametrize(
    "last", [b"", b"HTTP/1.1 400\r\n\r\n", b"Content-Length: x\r\n\r\n", b"Content-Length: 2\r\n\r\n{]"]
)
def test_a_server_that_ends_or_talks_nonsense_is_an_error(last: bytes, ends: tuple[Connection, socket.socket]) -> None:
    connection, server = ends
    server.sendall(last)
    server.close()
    with pytest.raises(ConnectionLostError):
        list(connection.messages())


@pytest.mark.skipif(not has_private_sockets(), reason="needs Unix sockets")
def test_a_server_that_was_started_is_reaped_when_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = ServerFiles(*(tmp_path / name for name in ("sock", "mcp", "lock", "log")))
    serves = f"import socket as s; a = s.socket(s.AF_UNIX); a.bind({str(place.socket)!r}); a.listen(); a.accept()"
    monkeypatch.setattr(asking, "_SERVE", ("-c", serves))
    with asking.started(place, place.socket, Cancellation()) as connected:
        process = peer(connected)[0]
    while psutil.pid_exists(process):
        time.sleep(0.01)


@pytest.mark.skipif(not has_private_sockets(), reason="needs Unix sockets")
async def test_users_neither_ask_nor_answer_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(place := tmp_path / "server.sock") as opened:
        opened.listen()
        found = running(place)
        assert found is not None
        with found[0]:
            assert found[1] == os.getpid()
            reader, writer = await asyncio.open_connection(sock=opened.accept()[0])
            assert await transport._is_us(place, reader, writer)
            for module in (asking, transport):
                monkeypatch.setattr(module, "user", lambda: os.getuid() + 1)
            assert not await transport._is_us(place, reader, writer)
            writer.close()
        with pytest.raises(NoServerError, match="belongs to another user"):
            running(place)
