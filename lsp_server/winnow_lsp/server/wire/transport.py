"""From byte streams to clients: standard input and output, or a socket with any number of clients.

A message is a `Content-Length` header, an empty line, and a body (LSP 3.17, Base Protocol).
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import re
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from winnow_engine.platform import has_private_sockets, peer, user
from winnow_lsp.host.socket_path import HANDSHAKE_S, LONGEST_LINE, Port, listening
from winnow_lsp.host.standard_output import bridged, take_standard_output
from winnow_lsp.server.wire.protocol import StrictProtocol

_HEADER = re.compile(rb"[A-Za-z-]+:.*")
_LENGTH = re.compile(rb"content-length:\s*(\d{1,18})", re.IGNORECASE)

LONGEST_BODY = 256 << 20
"""Bytes. No editor sends more; a stream that announces more is out of step and cannot be read on."""

_LAST_WORDS_S = 5.0  # for a client to read what was sent last
MOST_UNREAD = 64 << 20  # bytes written that a client may leave unread before it counts as gone

_log = logging.getLogger(__name__)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
"""Serves the client at the other end of a stream until it leaves."""


class FramingError(Exception):
    """The stream cannot be read on."""


async def read_body(reader: asyncio.StreamReader) -> bytes | None:
    """The next message's body, None at the end. Raises FramingError for a line that is no header, and for a giant."""
    length: int | None = None
    try:
        while line := await reader.readline():
            header = line.strip()
            if found := _LENGTH.fullmatch(header):
                length = int(found[1])
            elif header:
                if not _HEADER.fullmatch(header):
                    raise FramingError(f"not a header: {header[:60]!r}")
            elif length is not None:
                if length > LONGEST_BODY:
                    raise FramingError(f"a message of {length:,} bytes is announced")
                return await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        return None
    except ValueError as error:
        raise FramingError("a header line has no end") from error
    return None


class Outbox:
    """Sends the server's messages. Never waits: a client that stopped reading is cut off."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        """Send one framed message. Does nothing once the client is gone."""
        transport = self._writer.transport
        if transport.is_closing():
            return
        self._writer.write(data)
        if transport.get_write_buffer_size() > MOST_UNREAD:
            transport.abort()

    def close(self) -> None:
        """Close after what is buffered has been sent."""
        self._writer.transport.close()


class ClientServer(Protocol):
    """A server of one client, as the transport sees it."""

    @property
    def protocol(self) -> StrictProtocol:
        """A reader and a writer of messages."""

    async def leave(self) -> None:
        """Stop all work for the client."""


MakeServer = Callable[[], ClientServer]  # called on the event loop for each client that connects


async def serve_stdio(make_server: MakeServer) -> int:
    """Serve the client on standard streams until it leaves. Returns 0 if it shut down in order, else 1."""
    connection, writing = bridged(os.fdopen(sys.stdin.fileno(), "rb", closefd=False), take_standard_output())
    server = make_server()
    await converse(server, *await asyncio.open_connection(sock=connection))
    await asyncio.to_thread(writing.join, _LAST_WORDS_S)
    return 0 if server.protocol.orderly else 1


async def serve_tcp(make_server: MakeServer, host: str, port: int, ready: Callable[[str, int], None]) -> None:
    """Serve clients until cancelled; `ready` is called with the address. Raises OSError if it cannot be had."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await converse(make_server(), reader, writer)

    listening = await asyncio.start_server(connected, host, port)
    ready(*listening.sockets[0].getsockname()[:2])
    async with listening:
        await listening.serve_forever()


async def serve_private(serves: Mapping[Path, Serve], idle_s: float) -> None:
    """Serve this user's clients, nobody else's, at these places until idle for `idle_s` seconds, or cancelled."""
    idle, clients = _Idle(idle_s), set[asyncio.Task[Any]]()

    async def connected(place: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        clients.add(task)
        task.add_done_callback(clients.discard)
        with closing(writer), suppress(asyncio.CancelledError):  # asyncio would log it as an error
            if await _is_us(place, reader, writer):
                with idle.busy():
                    await serves[place](reader, writer)

    async with AsyncExitStack() as opened:
        for place in serves:
            socket = opened.enter_context(listening(place))
            accept = partial(connected, place)
            await opened.enter_async_context(await asyncio.start_server(accept, sock=socket, limit=LONGEST_LINE))
        try:
            await idle.over.wait()
        finally:
            while clients:  # others may come while these end
                for task in clients:
                    task.cancel()
                await asyncio.gather(*clients, return_exceptions=True)


async def _is_us(place: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """True for a client of the same user, which is told that this is the server whose port it has read."""
    if has_private_sockets():
        return peer(writer.get_extra_info("socket"))[1] == user()
    try:
        port = Port.of(place)
        async with asyncio.timeout(HANDSHAKE_S):
            given = await reader.readexactly(len(port.digest))
    except (asyncio.IncompleteReadError, OSError, ValueError):  # TimeoutError is an OSError
        return False
    if known := hmac.compare_digest(given, port.digest):
        writer.write(port.secret)
    return known


class _Idle:
    """Tells when nobody has been there for a while. Belongs to the event loop."""

    def __init__(self, seconds: float) -> None:
        self.over = asyncio.Event()
        self._seconds, self._clients = seconds, 0
        self._timer = self._wait()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Count a client during the block."""
        self._clients += 1
        self._timer.cancel()
        try:
            yield
        finally:
            self._clients -= 1
            if not self._clients:
                self._timer = self._wait()

    def _wait(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._seconds, self.over.set)


async def converse(server: ClientServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one client until it leaves, in order or not; all work for it has stopped when this returns."""
    protocol = server.protocol
    protocol.set_writer(Outbox(writer))
    try:
        while not protocol.left and (body := await read_body(reader)) is not None:
            protocol.receive(body)
    except FramingError as error:
        _log.error("connection given up: %s", error)
    except ConnectionError:
        pass  # it left while it was written to
    finally:
        try:
            await server.leave()
        finally:
            writer.close()
