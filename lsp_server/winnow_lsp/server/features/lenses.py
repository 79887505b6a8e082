"""Code lenses above functions, for those who want them."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from winnow_engine.core import UnitKind
from winnow_lsp.server.features.commands import EXPLAIN
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.session.texts import units_of
from winnow_lsp.server.topics import Topic

_LENSES = {Topic.CODE: "Explain", Topic.USAGE: "Uses"}


def register(server: WinnowServer) -> None:
    """Offer code lenses; there are none until the setting asks for them."""

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
        if not server.editor.settings.code_lens or server.editor.folders.find(uri) is None:
            return []
        units = [u for u in await units_of(server.editor, uri) if u.kind in (UnitKind.FUNCTION, UnitKind.METHOD)]
        return [_lens(uri, unit.start_line - 1, topic) for unit in units for topic in _LENSES]


def _lens(uri: str, line: int, topic: Topic) -> types.CodeLens:
    place: dict[str, Any] = {"line": line, "character": 0}
    argument = {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}, "about": topic.value}
    at = types.Position(line, 0)
    return types.CodeLens(types.Range(at, at), types.Command(_LENSES[topic], EXPLAIN, arguments=[argument]))
