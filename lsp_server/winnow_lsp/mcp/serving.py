"""Serves agents: through a socket that `winnow mcp` passes bytes to, or over HTTP."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from threading import Thread

from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from winnow_engine.config import Config
from winnow_engine.storage.store import Store, default_path
from winnow_engine.untrusted import read_json
from winnow_lsp.host.engines import Engines
from winnow_lsp.host.settings import Settings
from winnow_lsp.host.socket_path import LONGEST_LINE
from winnow_lsp.http.errors import ApiError
from winnow_lsp.http.guard import Guard
from winnow_lsp.http.listening import listening_socket, web_server
from winnow_lsp.mcp.repository import AgentRepository
from winnow_lsp.mcp.server import make_server
from winnow_lsp.mcp.streams import message_streams
from winnow_lsp.mcp.workspace import Workspaces

_log = logging.getLogger(__name__)


async def serve_agent(engines: Engines, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve the client at the other end until it leaves; all work for it has stopped when this returns."""
    try:
        opened = read_json(await reader.readline())
        config, workspace = Settings.of(opened["settings"]), Path(opened["workspace"])
    except (ValueError, KeyError, TypeError) as error:
        _log.error("an agent's connection given up: %s", error)
        writer.close()
        return
    try:
        async with _repository(engines, config) as repository:
            server = make_server(repository, Workspaces(workspace, config.files))
            async with message_streams(reader, writer) as (received, to_send):
                await server.run(received, to_send, server.create_initialization_options())
    finally:
        writer.close()


def serve_here() -> socket.socket:
    """A connection to a server on a thread of this process, which ends when the connection does."""
    ours, theirs = socket.socketpair()

    async def serve() -> None:
        with closing(Store(default_path())) as store:
            reader, writer = await asyncio.open_connection(sock=theirs, limit=LONGEST_LINE)
            await serve_agent(Engines(store), reader, writer)

    Thread(target=lambda: asyncio.run(serve()), name="winnow-mcp").start()
    return ours


async def serve_http(
    config: Config, workspace: Path, host: str, port: int, guard: Guard, ready: Callable[[str, int], None]
) -> None:
    """Serve the folder over streamable HTTP at `/mcp` until told to stop; `ready` gets the address.

    Raises OSError if the address is not available.
    """
    root = workspace.resolve()
    with closing(Store(default_path())) as store, listening_socket(host, port) as listening:
        async with _repository(Engines(store), config) as repository:
            server = make_server(repository, Workspaces(root, config.files, within=root))
            ready(*listening.getsockname()[:2])
            # By itself the SDK takes only requests to names of this machine; behind a proxy they have others.
            any_name = TransportSecuritySettings(enable_dns_rebinding_protection=False) if guard.knows_askers else None
            application = server.streamable_http_app(host=host, transport_security=any_name)
            await web_server(_Guarded(application, guard)).serve([listening])


@asynccontextmanager
async def _repository(engines: Engines, config: Config) -> AsyncIterator[AgentRepository]:
    """A repository with the models of a configuration; when the block ends, all work for it has stopped."""
    engine = engines.acquire(config.models, load_target=False)  # many agents search only
    repository = AgentRepository(engine, config)
    engines.use(config, repository)
    try:
        yield repository
    finally:
        await repository.leave()
        engines.leave(repository)
        await engines.release(engine)


class _Guarded:
    """An application that answers only those who may ask."""

    def __init__(self, application: ASGIApp, guard: Guard) -> None:
        self._application, self._guard = application, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._guard.check(Request(scope))
            except ApiError as error:
                await JSONResponse(error.document, error.status)(scope, receive, send)
                return
        await self._application(scope, receive, send)
