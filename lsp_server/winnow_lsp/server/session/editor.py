"""A client's folders, settings and open documents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from pygls.workspace import TextDocument

from winnow_engine.index.workspace import Sources
from winnow_lsp.host.settings import Settings
from winnow_lsp.server.session.folders import Folders


class EditorState:
    """One client's folders, settings and open documents. Belongs to the event loop.

    Questions wait for `configured`: the client's settings may arrive after its first request.
    """

    def __init__(self, documents: Callable[[], Iterable[TextDocument]]) -> None:
        """`documents` returns the open ones."""
        self._documents = documents
        self.configured = asyncio.Event()
        self.initial_options: object = None
        self.settings, _ = Settings.read()
        self.told: tuple[str, ...] = ()  # the problems with them that the user knows
        self.folders = Folders()

    def document(self, uri: str) -> TextDocument | None:
        """The document with this URI if it is open."""
        return next((document for document in self._documents() if document.uri == uri), None)

    def sources(self, folders: Folders) -> Sources:
        """The engine's sources: these folders, with open documents as they are in the editor.

        Raises WorkspaceError if there is no folder.
        """
        return folders.sources(self.settings.files, {document.uri: document.source for document in self._documents()})
