"""Commands for clients that do not know our requests: they ask, and show the result."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import attrs
from lsprotocol import types

from winnow_lsp.server.features.asking import answer, select
from winnow_lsp.server.features.editing import change
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.wire.messages import AskParams, EditParams
from winnow_lsp.server.wire.protocol import parsing

ASK, EXPLAIN, SHOW_SPANS = "winnow.ask", "winnow.explain", "winnow.showSpans"
EDIT = "winnow.edit"
REINDEX, CANCEL = "winnow.reindex", "winnow.cancel"

Handler = Callable[[WinnowServer, types.ExecuteCommandParams], Coroutine[None, None, Any]]


def register(server: WinnowServer) -> None:
    """Offer the commands."""
    for name, handler in _HANDLERS.items():
        server.command(name)(handler)


async def _ask(server: WinnowServer, params: types.ExecuteCommandParams) -> dict[str, Any]:
    with parsing():
        asked = AskParams.read(_argument(params))
    request = select if params.command == SHOW_SPANS else answer
    return await request(server, await with_token(server, params, asked), shown=True)


async def _edit(server: WinnowServer, params: types.ExecuteCommandParams) -> dict[str, Any]:
    with parsing():
        asked = EditParams.read(_argument(params))
    token = params.work_done_token or await server.bars.new_token()
    return await change(server, attrs.evolve(asked, work_done_token=token))


async def _reindex(server: WinnowServer, params: types.ExecuteCommandParams) -> None:
    await server.editor.configured.wait()
    token = params.work_done_token or await server.bars.new_token()
    async with server.bars.show(token) as bar:
        bar.begin()
        await server.indexer.run(bar.report)


async def _cancel(server: WinnowServer, _params: types.ExecuteCommandParams) -> None:
    server.questions.cancel()


_HANDLERS: dict[str, Handler] = {
    ASK: _ask,
    EXPLAIN: _ask,
    SHOW_SPANS: _ask,
    EDIT: _edit,
    REINDEX: _reindex,
    CANCEL: _cancel,
}


def _argument(params: types.ExecuteCommandParams) -> object:
    if not params.arguments or len(params.arguments) != 1:
        raise ValueError(f"{params.command} takes one argument, an object")
    return params.arguments[0]


async def with_token(server: WinnowServer, params: types.ExecuteCommandParams, asked: AskParams) -> AskParams:
    """The same question with a token for progress if the client shows any; the answer is not streamed."""
    token = params.work_done_token or await server.bars.new_token()
    return attrs.evolve(asked, work_done_token=token, partial_result_token=None)
