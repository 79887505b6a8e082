"""The tools over MCP: what they are called, and what becomes of a call."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from importlib.metadata import version
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from starlette.requests import ClientDisconnect, Request

from winnow_engine.errors import CancelledError, WinnowError
from winnow_engine.index.workspace import Sources
from winnow_lsp.http.answering import Answering
from winnow_lsp.mcp.arguments import Arguments, read_arguments
from winnow_lsp.mcp.relay import DISTRIBUTION, INSTRUCTIONS, NAME, TITLE, reads_text, tools
from winnow_lsp.mcp.repository import AgentRepository, Reports
from winnow_lsp.mcp.results import ToolResult
from winnow_lsp.mcp.workspace import Workspaces

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]


TOOLS: Mapping[str, Callable[[AgentRepository, Sources, Arguments, Reports], Coroutine[Any, Any, ToolResult]]] = {
    "find_code": AgentRepository.find,
    "explain_place": AgentRepository.explain,
    "outline": AgentRepository.outline,
    "ask": AgentRepository.answer,
}
"""By the names of tools; `tools.json` has what agents read of them."""
_SCHEMAS = {tool["name"]: tool["inputSchema"] for tool in tools("")}


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
    sources = await workspaces.sources(context.session)
    async with Reports(lambda number, line: context.session.report_progress(number, None, line)) as reports:
        result = await attended(context.request, tool(repository, sources, asked, reports))
    text = types.TextContent(type="text", text=result.page())
    structured = result.json_document() if reads_text(_client(context)) else None
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
