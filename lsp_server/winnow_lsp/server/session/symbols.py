"""The symbols of one document, as the engine's units see them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lsprotocol import types

from winnow_engine.core import Unit, UnitKind
from winnow_engine.index.regular import read_regular
from winnow_engine.index.symbols import analyse
from winnow_engine.index.units import enclosing
from winnow_lsp.server.session.folders import file_path

if TYPE_CHECKING:
    from winnow_lsp.server.server import WinnowServer

_NAMED = (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER)


async def symbol_at(server: WinnowServer, uri: str, at: types.Range) -> str:
    """The qualified name of the symbol around a cursor; empty for a selection of several lines, or around no symbol."""
    units = await units_of(server, uri)
    if at.start.line != at.end.line or not units:
        return ""
    unit = units[enclosing(units, at.start.line + 1)]
    return unit.name if unit.kind in _NAMED else ""


async def units_of(server: WinnowServer, uri: str) -> tuple[Unit, ...]:
    """The units of a document inside the workspace, open or on disk; none if it cannot be read."""
    path, document = server.folders.path(uri), server.document(uri)
    text = document.source if document is not None else None
    limit = server.settings.rules.max_bytes

    def analysed() -> tuple[Unit, ...]:
        try:
            data = text.encode("utf-8", "replace") if text is not None else read_regular(file_path(uri), limit)
        except OSError:
            return ()
        return analyse(path, data).units if len(data) <= limit else ()

    return await asyncio.to_thread(analysed)
