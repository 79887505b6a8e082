"""The symbols of one document, as the engine's units see them."""

from __future__ import annotations

import asyncio

from lsprotocol import types

from winnow_engine.core import Unit, UnitKind
from winnow_engine.index.symbols import analyse
from winnow_engine.index.units import enclosing
from winnow_engine.platform import read_regular
from winnow_lsp.host.uris import file_path
from winnow_lsp.server.session.editor import EditorState

_NAMED = (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER)


async def symbol_at(editor: EditorState, uri: str, at: types.Range) -> str:
    """The qualified name of the symbol around a cursor.

    Empty for a selection of several lines, and where there is no symbol.
    """
    units = await units_of(editor, uri)
    if at.start.line != at.end.line or not units:
        return ""
    unit = units[enclosing(units, at.start.line + 1)]
    return unit.name if unit.kind in _NAMED else ""


async def units_of(editor: EditorState, uri: str) -> tuple[Unit, ...]:
    """The units of a document inside the workspace, open or on disk; none if it cannot be read."""
    path, document = editor.folders.path(uri), editor.document(uri)
    text = document.source if document is not None else None
    limit = editor.settings.files.max_bytes

    def analysed() -> tuple[Unit, ...]:
        try:
            data = text.encode("utf-8", "replace") if text is not None else read_regular(file_path(uri), limit)
        except OSError:
            return ()
        return analyse(path, data).units if len(data) <= limit else ()

    return await asyncio.to_thread(analysed)
