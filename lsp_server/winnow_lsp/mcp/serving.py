"""The tools over MCP, through a socket that `winnow mcp` passes bytes to, one message a line, or over HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from winnow_engine.config import Config
from winnow_engine.errors import CancelledError, NotJsonError, WinnowError
from winnow_engine.index.workspace import Sources
from winnow_engine.storage.store import Store, default_path
from winnow_engine.untrusted import json_object, read_json
from winnow_lsp.host.engines import Engines
from winnow_lsp.host.settings import Settings
from winnow_lsp.host.socket_path import LONGEST_LINE
from winnow_lsp.http.answering import Answering
from winnow_lsp.http.fields import ApiError
from winnow_lsp.http.guard import Guard, listening_socket, web_server
from winnow_lsp.mcp.arguments import Arguments, read_arguments
from winnow_lsp.mcp.relay import DISTRIBUTION, INSTRUCTIONS, NAME, TITLE, is_identity, reads_text, tools
from winnow_lsp.mcp.repository import AgentRepository, Reports
from winnow_lsp.mcp.results import ToolResult
from winnow_lsp.mcp.workspace import Workspaces

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]
_Received = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[_Received], MemoryObjectSendStream[SessionMessage]]

TOOLS: Mapping[str, Callable[[AgentRepository, Sources, Arguments, Reports], Coroutine[Any, Any, ToolResult]]] = {
    "find_code": AgentRepository.find,
    "explain_place": AgentRepository.explain,
    "outline": AgentRepository.outline,
    "ask": AgentRepository.answer,
}
"""By the names of tools; `tools.json` has what agents read of them."""
_SCHEMAS = {tool["name"]: tool["inputSchema"] for tool in tools("")}
_log = logging.getLogger(__name__)


def make_server(repository: AgentRepository, workspaces: Workspaces) -> Server[Any]:
    """A server with all tools for the clients of one repository."""

    async def list_tools(context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": tools(_client(context))})

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            return await _call(context, params, repository, workspaces)
        except (WinnowError, ValueError) as error:
            return _failed(str(error))

    async def initialized(context: Context, _: types.NotificationParams | None) -> None:
        repository.index(lambda: workspaces.sources(context.session))

    async def roots_changed(context: Context, _: types.NotificationParams | None) -> None:
        workspaces.changed(context.session)

    server: Server[Any] = Server(
        NAME,
        title=TITLE,
        version=version(DISTRIBUTION),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.add_notification_handler("notifications/initialized", types.NotificationParams, initialized)
    server.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, roots_changed)
    return server


def _client(context: Context) -> str:
    about = context.session.client_params
    return about.client_info.name if about else ""


async def _call(
    context: Context, params: types.CallToolRequestParams, repository: AgentRepository, workspaces: Workspaces
) -> types.CallToolResult:
    tool = TOOLS.get(params.name)
    if tool is None:
        return _failed(f"there is no tool {params.name!r}, but {', '.join(TOOLS)}")
    asked = read_arguments(_SCHEMAS[params.name], params.arguments or {})
    notices = list(asked.notices)
    sources = await workspaces.sources(context.session, notices)
    asked = replace(asked, notices=tuple(notices))
    async with Reports(lambda number, line: context.session.report_progress(number, None, line)) as reports:
        result = await attended(context.request, tool(repository, sources, asked, reports))
    text = types.TextContent(type="text", text=result.page())
    structured = result.model_dump(mode="json", exclude_none=True) if reads_text(_client(context)) else None
    return types.CallToolResult(content=[text], structured_content=structured)


async def attended(request: Request | None, work: Coroutine[Any, Any, T]) -> T:
    """The work's result. Over HTTP it stops, with CancelledError, once its client has gone, who could not fetch it."""
    if request is None:
        return await work
    try:
        return await Answering(lambda _: work, request).completion()
    except ClientDisconnect:
        raise CancelledError("the client has gone") from None


def _failed(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=message)], is_error=True)


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
    found = json_object(line) or {}
    if "method" not in found or not is_identity(identity := found.get("id")):
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
    """A connection to a server on a thread of this process, which ends with the connection. Raises WorkspaceError."""
    store, (ours, theirs) = Store(default_path()), socket.socketpair()

    async def serve() -> None:
        with theirs, closing(store):  # whatever fails: the client would wait for ever
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
            # A task of its own: uvicorn raises Ctrl-C again at its end, which would cancel the block's end here.
            await asyncio.create_task(web_server(_Guarded(application, guard)).serve([listening]))


@asynccontextmanager
async def _repository(engines: Engines, config: Config) -> AsyncIterator[AgentRepository]:
    """A repository with the models of a configuration; when the block ends, all work for it has stopped."""
    engine = engines.acquire(await engines.named(config.models), load_target=False)  # many agents search only
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
                await JSONResponse(error.document, error.status, error.headers)(scope, receive, send)
                return
        await self._application(scope, receive, send)
