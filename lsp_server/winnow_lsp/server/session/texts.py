"""The text of files, in the editor where open, else on disk, and the symbols in it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from winnow_engine.core import Unit, UnitKind
from winnow_engine.errors import NotApplicableError, ReadOnlyError
from winnow_engine.index.file_text import file_text
from winnow_engine.index.symbols import analyse
from winnow_engine.index.units import enclosing
from winnow_engine.platform import read_regular
from winnow_lsp.host.roots import file_path
from winnow_lsp.server.session.editor import EditorState

_NAMED = (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER)


async def symbol_at(editor: EditorState, uri: str, at: types.Range) -> str:
    """The qualified name of the symbol around a cursor; empty for several lines, or if there is none."""
    units = await units_of(editor, uri)
    if at.start.line != at.end.line or not units:
        return ""
    unit = units[enclosing(units, at.start.line + 1)]
    return unit.name if unit.kind in _NAMED else ""


async def units_of(editor: EditorState, uri: str) -> tuple[Unit, ...]:
    """The units of a document inside the workspace, open or on disk; none if it cannot be read."""
    path, text = editor.folders.path(uri), await text_now(editor, uri)
    if text is None or len(text.data) > editor.settings.files.max_bytes:
        return ()
    return await asyncio.to_thread(lambda: analyse(path, file_text(path, text.data)[0]).units)


@dataclass(frozen=True, slots=True)
class Text:
    """A file's content; `version` is that of the open document, None for a file on disk."""

    data: bytes
    version: int | None = None

    @property
    def digest(self) -> str:
        """A hash of the text."""
        return hashlib.blake2b(self.data, digest_size=16).hexdigest()


async def text_now(editor: EditorState, uri: str) -> Text | None:
    """The text of a file; None if there is no such file, or it is larger than files of a workspace may be."""
    document = editor.document(uri)
    if document is not None:
        return Text(document.source.encode("utf-8", "replace"), document.version)
    limit = editor.settings.files.max_bytes
    try:
        data = await asyncio.to_thread(read_regular, file_path(uri), limit + 1)
    except OSError:
        return None
    return Text(data) if len(data) <= limit else None


def check_writable(uri: str) -> None:
    """Raise ReadOnlyError for a file that may not be written; one that does not exist yet may be."""
    path = file_path(uri)
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise ReadOnlyError(f"{path.name} is read-only: make it writable first")


def check_within(uri: str, roots: Iterable[Path]) -> None:
    """Raise NotApplicableError for a file that a link leads out of these folders, or nowhere."""
    path = file_path(uri)
    try:
        inside = any(path.resolve().is_relative_to(root.resolve()) for root in roots)
    except (OSError, RuntimeError):  # a circle of links
        inside = False
    if not inside:
        raise NotApplicableError(f"{path.parent} leads out of the workspace by a link; nothing was changed")
