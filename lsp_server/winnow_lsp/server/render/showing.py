"""Shows Markdown to clients that only run commands: as a virtual document, else a temporary file, else a message."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from pathlib import Path
from tempfile import TemporaryDirectory

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

SCHEME = "winnow"
_MOST_PAGES = 50
_ANSWER_TIMEOUT_S = 10


class Pages:
    """The pages shown to one client, by URI. The latest ones stay readable."""

    def __init__(self, client: LanguageServer) -> None:
        self._client = client
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._folder: TemporaryDirectory[str] | None = None
        self._count = 0

    @property
    def virtual(self) -> bool:
        """True if the client reads virtual documents once their scheme is registered."""
        workspace = self._client.client_capabilities.workspace
        content = workspace.text_document_content if workspace else None
        return bool(content and content.dynamic_registration)

    async def show(self, title: str, text: str) -> None:
        """Show Markdown to the user in the best way the client supports."""
        self._count += 1
        name = f"{self._count}-{_slug(title)}.md"
        window = self._client.client_capabilities.window
        if not (window and window.show_document and window.show_document.support):
            self._client.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))
            return
        uri = self._remember(name, text) if self.virtual else self._write(name, text)
        if not await self._opened(uri):
            self._client.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))

    def text(self, uri: str) -> str:
        """The text of a virtual document, for `workspace/textDocumentContent`."""
        return self._texts.get(uri, "This answer is gone; ask again.\n")

    def close(self) -> None:
        """Remove the temporary files."""
        if self._folder is not None:
            self._folder.cleanup()

    async def _opened(self, uri: str) -> bool:
        """Ask the client to open a document; returns whether it did. A client that never answers counts as refusing."""
        try:
            async with asyncio.timeout(_ANSWER_TIMEOUT_S):
                shown = await self._client.window_show_document_async(types.ShowDocumentParams(uri, take_focus=True))
        except (JsonRpcException, TimeoutError):
            return False
        return shown.success

    def _remember(self, name: str, text: str) -> str:
        uri = f"{SCHEME}:/{name}"
        self._texts[uri] = text
        if len(self._texts) > _MOST_PAGES:
            self._texts.popitem(last=False)
        return uri

    def _write(self, name: str, text: str) -> str:
        self._folder = self._folder or TemporaryDirectory(prefix="winnow-")
        path = Path(self._folder.name) / name
        path.write_text(text, encoding="utf-8")
        return path.as_uri()


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40] or "answer"
