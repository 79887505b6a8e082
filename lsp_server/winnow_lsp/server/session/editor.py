"""A client's folders, settings, texts (in the editor where open, else on disk) and unanswered questions.

Editors count lines from 0 and end ranges before a character; the engine counts from 1 and includes the last line.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.workspace import TextDocument

from winnow_engine.core import DEFINITIONS, Citation, Span, Unit
from winnow_engine.errors import NotApplicableError, PositionError, ReadOnlyError, WorkspaceError
from winnow_engine.index.file_text import as_utf8, file_text
from winnow_engine.index.symbols import analyse
from winnow_engine.index.units import enclosing
from winnow_engine.index.workspace import Sources
from winnow_engine.platform import read_regular
from winnow_engine.question import Cursor
from winnow_lsp.host.roots import file_at, file_path, local_path, named_folders, workspace_path
from winnow_lsp.host.settings import Settings


class Folders:
    """The workspace folders of one client, in the order they were added. Immutable: a question keeps its own."""

    def __init__(self, names: Mapping[Path, str] | None = None, uris: Mapping[str, str] | None = None) -> None:
        self.names, self._uris = dict(names or {}), uris or {}
        self.all = tuple(named_folders(self.names))

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders' directories."""
        return tuple(self.names)

    def changed(self, added: Iterable[types.WorkspaceFolder], removed: Iterable[str] = ()) -> Folders:
        """A copy with some folders added and removed, without those that have no `local_path`."""
        gone = set(map(local_path, removed))
        new = {root: folder.name or root.name for folder in added if (root := local_path(folder.uri))}
        return Folders({root: name for root, name in self.names.items() if root not in gone} | new)

    def opened(self, documents: Iterable[TextDocument]) -> dict[str, TextDocument]:
        """Documents by workspace path. One that is open under its own name wins over others behind links."""
        found = [(path, one) for one in documents if (path := self.find(one.uri))]
        return dict(sorted(found, key=lambda pair: file_at(self.all, pair[0]) == local_path(pair[1].uri)))

    def path(self, uri: str) -> str:
        """A document's workspace path. Raises PositionError if it is outside of every folder."""
        found = self.find(uri)
        if found is None:
            raise PositionError(f"{uri} is outside the workspace: open its folder to ask about it")
        return found

    def find(self, uri: str) -> str | None:
        """A document's workspace path, or None if it is outside of every folder."""
        return workspace_path(self.all, file) if (file := local_path(uri)) else None

    def uri(self, path: str, committed: bool = False) -> str:
        """The URI of a workspace path, `committed` or as it is now. PositionError if its folder has been removed."""
        if path in self._uris and not committed:
            return self._uris[path]
        if file := file_at(self.all, path):
            return file.as_uri()
        raise PositionError(f"{path} is no longer in any of the workspace's folders: ask again")

    def cursor(self, uri: str, at: types.Range) -> Cursor:
        """The lines of a range. A selection that ends at a line's very beginning leaves that line out."""
        ends_before = at.end.character == 0 and at.end.line > at.start.line
        return Cursor(self.path(uri), at.start.line + 1, at.end.line + (0 if ends_before else 1))

    def location(self, place: Citation | Span) -> types.Location:
        """The whole lines of a citation or span, as an editor's location."""
        lines = types.Range(types.Position(place.start_line - 1, 0), types.Position(place.end_line, 0))
        committed = isinstance(place, Citation) and bool(place.commit)
        return types.Location(self.uri(place.path, committed), lines)


class Document(TextDocument):
    """An open document, in lines as the protocol has them: pygls also splits at form feeds and U+2028."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, with their ends."""
        return tuple(io.StringIO(self.source, newline=""))


class Questions:
    """Tasks that work on a question each. Belongs to the event loop."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []
        self.in_order = asyncio.Lock()
        """Held while a question is worded, so that none overtakes another on its way to the queue."""
        self._superseded: set[asyncio.Task[Any]] = set()

    @contextmanager
    def unfinished(self, supersedes: bool) -> Iterator[None]:
        """Count the current task as a question during the block. If it `supersedes` the others, they are cancelled."""
        task = asyncio.current_task()
        assert task is not None
        if supersedes:
            self._superseded.update(self.tasks)
            self.cancel()
        self.tasks.append(task)
        try:
            yield
        except asyncio.CancelledError:
            if task in self._superseded:
                code = types.LSPErrorCodes.ServerCancelled.value
                raise JsonRpcException("superseded by a newer question", code) from None
            raise
        finally:
            self.tasks.remove(task)
            self._superseded.discard(task)

    def cancel(self) -> None:
        """Cancel them all."""
        for task in self.tasks:
            task.cancel()


class EditorState:
    """A client's folders, settings and open documents. Questions wait for `configured`, as settings may come late."""

    def __init__(self, documents: Callable[[], Iterable[TextDocument]]) -> None:
        """`documents` returns the open ones."""
        self._documents = documents
        self.configured = asyncio.Event()
        self.initial_options: object = None
        self.settings, _ = Settings.read()
        self.told: tuple[str, ...] = ()  # the problems with them that the user knows
        self.folders = Folders()

    def document(self, uri: str) -> TextDocument | None:
        """The open document of a file, whose URI may be encoded differently. PositionError if the URI is no file's."""
        file = file_path(uri)
        return next((document for document in self._documents() if local_path(document.uri) == file), None)

    def current_folders(self) -> Folders:
        """The folders, and in locations the URIs of open documents: unsaved text may be behind a link alone."""
        opened = self.folders.opened(self._documents())
        return Folders(self.folders.names, {path: document.uri for path, document in opened.items()})

    def sources(self, folders: Folders) -> Sources:
        """The engine's sources, with open documents as in the editor. Raises WorkspaceError without a folder."""
        if not folders.all:
            raise WorkspaceError("no folder is open: open the repository's folder, then ask again")
        documents = folders.opened(self._documents())
        opened = {path: one.source.encode("utf-8", "replace") for path, one in documents.items()}
        return Sources(folders.all, self.settings.files, opened)


async def symbol_at(editor: EditorState, uri: str, at: types.Range) -> str:
    """The qualified name of the symbol around a cursor; empty for several lines, or if there is none."""
    units = await units_of(editor, uri)
    if at.start.line != at.end.line or not units:
        return ""
    unit = units[enclosing(units, at.start.line + 1)]
    return unit.name if unit.kind in DEFINITIONS else ""


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
    if (document := editor.document(uri)) is not None:
        return Text(as_utf8(document.source.encode("utf-8", "replace"))[0], document.version)
    limit = editor.settings.files.max_bytes
    try:
        data = await asyncio.to_thread(read_regular, file_path(uri), limit + 1)
    except OSError:
        return None
    return Text(as_utf8(data)[0]) if len(data) <= limit else None


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
