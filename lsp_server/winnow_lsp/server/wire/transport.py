"""From byte streams to clients: standard input and output, or TCP with any number of them."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable

from winnow_engine.store import Store
from winnow_lsp.host.engines import Engines
from winnow_lsp.server.features import register_all
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.wire.framing import FramingError, Outbox, read_body

_log = logging.getLogger(__name__)


async def serve_stdio(store: Store) -> int:
    """Serve the client on standard input and output until it leaves; the exit code says whether that was in order.

    Whatever else writes to standard output reaches standard error instead, llama.cpp included.
    """
    loop = asyncio.get_running_loop()
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, output)
    server = await converse(reader, asyncio.StreamWriter(transport, protocol, None, loop), Engines(store))
    return 0 if server.protocol.orderly else 1


async def serve_tcp(store: Store, host: str, port: int, ready: Callable[[str, int], None]) -> None:
    """Serve clients until cancelled; `ready` is told the address. OSError if it cannot be had."""
    engines = Engines(store)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await converse(reader, writer, engines)

    listening = await asyncio.start_server(connected, host, port)
    ready(*listening.sockets[0].getsockname()[:2])
    async with listening:
        await listening.serve_forever()


async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, engines: Engines) -> WinnowServer:
    """Serve one client until it leaves, in order or not; all its work has stopped when this returns."""
    server = WinnowServer(engines)
    register_all(server)
    server.protocol.set_writer(Outbox(writer))
    try:
        while not server.left and (body := await read_body(reader)) is not None:
            server.protocol.receive(body)
    except (FramingError, ConnectionError) as error:
        _log.error("connection given up: %s", error)
    finally:
        try:
            await server.leave()
        finally:
            writer.close()
    return server
