"""Serves agents: through a socket that `winnow mcp` passes bytes to, one message a line, or over HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from threading import Thread

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from winnow_engine.config import Config
from winnow_engine.errors import NotJsonError
from winnow_engine.storage.store import Store, default_path
from winnow_engine.untrusted import read_json
from winnow_lsp.host.engines import Engines
from winnow_lsp.host.settings import Settings
from winnow_lsp.host.socket_path import LONGEST_LINE
from winnow_lsp.http.fields import ApiError
from winnow_lsp.http.guard import Guard, listening_socket, web_server
from winnow_lsp.mcp.repository import AgentRepository
from winnow_lsp.mcp.server import make_server
from winnow_lsp.mcp.workspace import Workspaces

_Received = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[_Received], MemoryObjectSendStream[SessionMessage]]

_log = logging.getLogger(__name__)


@asynccontextmanager
async def message_streams(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncIterator[Streams]:
    """The messages that come and go. The first ends when the client leaves; what is no message is an exception in it.

    A request that cannot be read is answered here. A line longer than the reader's limit ends the first, too.
    """
    received_in, received = anyio.create_memory_object_stream[_Received]()
    to_send, to_send_out = anyio.create_memory_object_stream[SessionMessage]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, reader, received_in, writer)
        tasks.start_soon(_write, to_send_out, writer)
        try:
            yield received, to_send
        finally:
            tasks.cancel_scope.cancel()


async def _read(
    reader: asyncio.StreamReader, received: MemoryObjectSendStream[_Received], writer: asyncio.StreamWriter
) -> None:
    async with received:
        with suppress(ConnectionError, ValueError, anyio.BrokenResourceError):
            while lines := await reader.readline():
                for line in _each(lines):
                    message = _message(line)
                    if isinstance(message, ValidationError):
                        writer.write(_refusal(line, message))
                    await received.send(message)


def _each(line: bytes) -> list[bytes]:
    """The messages of a line: none, one, or the several of a batch (2025-03-26). Each is answered by itself."""
    if not line.lstrip().startswith(b"["):
        return [line] if line.strip() else []
    try:
        found = read_json(line)
        return [json.dumps(one).encode() for one in found]
    except (NotJsonError, RecursionError):
        return [line]


def _message(line: bytes) -> _Received:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


def _refusal(line: bytes, problem: ValidationError) -> bytes:
    """The answer to a request that the SDK cannot read, and would only log; nothing if it is no request."""
    try:
        found = read_json(line)
    except NotJsonError:
        return b""
    identity = found.get("id") if isinstance(found, dict) and "method" in found else None
    if not isinstance(identity, int | str) or isinstance(identity, bool):
        return b""
    told = f"the request cannot be read: {problem.errors(include_url=False)[0]['msg']}"
    answer = {"jsonrpc": "2.0", "id": identity, "error": {"code": types.INVALID_REQUEST, "message": told}}
    return json.dumps(answer).encode() + b"\n"


async def _write(to_send: MemoryObjectReceiveStream[SessionMessage], writer: asyncio.StreamWriter) -> None:
    async with to_send:
        with suppress(ConnectionError):
            async for message in to_send:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                writer.write(line.encode() + b"\n")
                await writer.drain()


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
    """Serve the folder over HTTP at `/mcp`, and tell `ready` the address. Raises OSError if that is not available."""
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
