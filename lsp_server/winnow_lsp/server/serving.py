"""Serves editors and commands: models for all clients, and for each client a server with every feature."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from winnow_engine.platform import try_lock
from winnow_engine.storage.store import Store
from winnow_lsp.host.engines import Engines
from winnow_lsp.host.socket_path import ServerFiles
from winnow_lsp.server.features import register_all
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.wire import transport

IDLE_S = 600.0  # after the last client the shared server stays this long, with the models of the last question loaded


async def serve_shared(
    store: Store, place: ServerFiles, idle_s: float, serve_agent: Callable[[Engines], transport.Serve]
) -> None:
    """Serve this user's commands and agents until idle or told to stop; not if another server does. Raises OSError."""
    engines = Engines(store, keep_last=True)
    make_server = server_maker(engines, lingers=True)

    async def serve_command(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await transport.converse(make_server(), reader, writer)

    with _claimed(place) as listening:
        if listening is None:
            return
        serves = dict(zip(listening, (serve_command, serve_agent(engines)), strict=True))
        serving = asyncio.ensure_future(transport.serve_private(serves, idle_s))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
        with suppress(asyncio.CancelledError):
            await serving
    await engines.close()


@contextmanager
def _claimed(place: ServerFiles) -> Iterator[tuple[socket.socket, socket.socket] | None]:
    """The sockets that listen for commands and for agents, None if another process has claimed them."""
    with place.lock.open("w") as lock:
        if not try_lock(lock.fileno()):
            yield None
            return
        # Who finds the second one finds the first one, too.
        with _listening(place.agents) as agents, _listening(place.socket) as commands:
            yield commands, agents


@contextmanager
def _listening(place: Path) -> Iterator[socket.socket]:
    """A Unix socket that only this user may connect to."""
    place.unlink(missing_ok=True)  # of a server that was killed
    with socket.socket(socket.AF_UNIX) as listening:
        before = os.umask(0o177)
        try:
            listening.bind(str(place))
        finally:
            os.umask(before)
        try:
            yield listening
        finally:
            place.unlink(missing_ok=True)


def server_maker(engines: Engines, *, lingers: bool = False) -> Callable[[], WinnowServer]:
    """Makes a server with every feature for each client."""

    def made() -> WinnowServer:
        server = WinnowServer(engines, lingers=lingers)
        register_all(server)
        return server

    return made
