"""Serves editors and commands: models for all clients, and for each client a server with every feature."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from winnow_engine.store import Store
from winnow_lsp.host.engines import Engines
from winnow_lsp.host.rendezvous import Rendezvous
from winnow_lsp.server.features import register_all
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.wire import transport

IDLE_S = 600.0
"""After the last client the shared server stays this long, with the models of the last question loaded."""


async def serve_stdio(store: Store) -> int:
    """Serve the client on standard input and output; returns the exit code once it has left."""
    return await transport.serve_stdio(_server_maker(Engines(store)))


async def serve_tcp(store: Store, host: str, port: int, ready: Callable[[str, int], None]) -> None:
    """Serve clients until cancelled; `ready` is called with the address. Raises OSError if it cannot be had."""
    await transport.serve_tcp(_server_maker(Engines(store)), host, port, ready)


async def serve_shared(store: Store, place: Rendezvous, idle_s: float) -> None:
    """Serve this user's commands until none has come for `idle_s` seconds, or until SIGTERM or SIGINT.

    Returns at once if another server serves there. Raises OSError if the socket cannot be had.
    """
    engines = Engines(store, keep_last=True)
    make_server = _server_maker(engines, lingers=True)
    with _claimed(place) as listening:
        if listening is None:
            return
        serving = asyncio.ensure_future(transport.serve_private(make_server, listening, idle_s))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
        with suppress(asyncio.CancelledError):
            await serving
    await engines.close()


@contextmanager
def _claimed(place: Rendezvous) -> Iterator[socket.socket | None]:
    """A socket that listens at the rendezvous, None if another process has claimed it."""
    with place.lock.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        place.socket.unlink(missing_ok=True)  # of a server that was killed
        with socket.socket(socket.AF_UNIX) as listening:
            before = os.umask(0o177)
            try:
                listening.bind(str(place.socket))
            finally:
                os.umask(before)
            try:
                yield listening
            finally:
                place.socket.unlink(missing_ok=True)


def _server_maker(engines: Engines, *, lingers: bool = False) -> Callable[[], WinnowServer]:
    def made() -> WinnowServer:
        server = WinnowServer(engines, lingers=lingers)
        register_all(server)
        return server

    return made
