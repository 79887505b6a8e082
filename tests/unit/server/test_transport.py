"""When a conversation ends, and that the client's server always leaves."""

import asyncio
import socket
import tempfile
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from winnow_lsp.host.socket_path import connect
from winnow_lsp.server.wire.transport import converse, serve_private


class Server:
    """Notes what it receives and whether it has left; `exit` ends the conversation."""

    def __init__(self) -> None:
        self.protocol, self.received, self.has_left, self.left = self, list[bytes](), False, False

    def set_writer(self, _writer: object) -> None:
        pass

    def receive(self, body: bytes) -> None:
        self.received.append(body)
        self.left = body == b"exit"

    async def leave(self) -> None:
        self.has_left = True


@pytest.mark.parametrize(
    "stream",
    [
        b"Content-Length: 1\r\n\r\nxContent-Length: 4\r\n\r\nexitContent-Length: 1\r\n\r\ny",
        b"Content-Length: 1\r\n\r\nxContent-Length: 4\r\n\r\nexit",
        b"Content-Length: 1\r\n\r\nx",
        b"Content-Length: 1\r\n\r\nxGET / HTTP/1.1\r\n\r\n",
    ],
    ids=["after exit", "at exit", "at the end of the stream", "at what is no message"],
)
async def test_a_conversation_ends(stream: bytes) -> None:
    reader, closed = asyncio.StreamReader(), asyncio.Event()
    reader.feed_data(stream)
    reader.feed_eof()
    server = Server()
    await converse(server, reader, SimpleNamespace(close=closed.set))
    assert (server.received[:1], server.received[1:] in ([], [b"exit"])) == ([b"x"], True)
    assert server.has_left
    assert closed.is_set()


async def test_a_client_that_leaves_while_it_is_written_to_is_no_error(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, ours = socket.socketpair()
    server, (reader, writer) = Server(), await asyncio.open_connection(sock=ours)
    monkeypatch.setattr(server, "receive", lambda _: writer.write(b"x"))
    client.sendall(b"Content-Length: 1\r\n\r\nx")
    client.close()
    await converse(server, reader, writer)
    assert server.has_left
    assert isinstance(reader.exception(), ConnectionError)
    assert not caplog.records


async def test_a_client_that_comes_while_another_is_stopped_is_stopped_too() -> None:
    came, clients, stopped = asyncio.Queue[None](), list[socket.socket](), list[int]()

    async def serve(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        came.put_nowait(None)
        try:
            await asyncio.Event().wait()
        finally:
            if len(clients) == 1:
                clients.append(connect(place)[0])
                await came.get()
            stopped.append(len(clients))

    with tempfile.TemporaryDirectory(prefix="winnow-test-") as folder:
        place = Path(folder) / "place"
        serving = asyncio.create_task(serve_private({place: serve}, 600.0))
        while not clients:
            await asyncio.sleep(0.01)
            with suppress(OSError):
                clients.append(connect(place)[0])
        await came.get()
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
    assert stopped == [2, 2]
    for client in clients:
        client.close()
