"""Serves editors and commands: models for all clients, and for each client a server with every feature."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

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

    with place.lock.open("w") as lock:
        if not try_lock(lock.fileno()):
            return
        # Who finds the second one finds the first one, too.
        serves = {place.agents: serve_agent(engines), place.socket: serve_command}
        serving = asyncio.ensure_future(transport.serve_private(serves, idle_s))
        with suppress(NotImplementedError):  # on Windows
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
        with suppress(asyncio.CancelledError):
            await serving
    await engines.close()


def server_maker(engines: Engines, *, lingers: bool = False) -> Callable[[], WinnowServer]:
    """Makes a server with every feature for each client."""

    def made() -> WinnowServer:
        server = WinnowServer(engines, lingers=lingers)
        register_all(server)
        return server

    return made
