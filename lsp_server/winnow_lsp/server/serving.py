"""Serves editors: models for all clients, and for each client a server with every feature."""

from __future__ import annotations

from collections.abc import Callable

from winnow_engine.store import Store
from winnow_lsp.host.engines import Engines
from winnow_lsp.server.features import register_all
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.wire import transport


async def serve_stdio(store: Store) -> int:
    """Serve the client on standard input and output; returns the exit code once it has left."""
    return await transport.serve_stdio(_server_maker(Engines(store)))


async def serve_tcp(store: Store, host: str, port: int, ready: Callable[[str, int], None]) -> None:
    """Serve clients until cancelled; `ready` is called with the address. Raises OSError if it cannot be had."""
    await transport.serve_tcp(_server_maker(Engines(store)), host, port, ready)


def _server_maker(engines: Engines) -> Callable[[], WinnowServer]:
    def made() -> WinnowServer:
        server = WinnowServer(engines)
        register_all(server)
        return server

    return made
