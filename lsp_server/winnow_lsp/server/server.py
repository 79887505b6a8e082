"""One client: its folders, settings and conversations, and the work it waits for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from winnow_engine.core import Turn
from winnow_engine.index.workspace import Sources
from winnow_lsp.host.engines import Engine, Engines
from winnow_lsp.server.render.showing import Pages
from winnow_lsp.server.render.status import Status
from winnow_lsp.server.session.folders import Folders
from winnow_lsp.server.session.indexing import Indexer
from winnow_lsp.server.session.settings import Settings
from winnow_lsp.server.session.watching import Watcher
from winnow_lsp.server.wire.protocol import Protocol, converter

_log = logging.getLogger(__name__)


class WinnowServer(LanguageServer):
    """What the server knows of one client. All of it belongs to the event loop.

    Questions wait for `configured`: the client's settings arrive after its first request may have.
    """

    protocol: Protocol

    def __init__(self, engines: Engines) -> None:
        super().__init__("winnow", version("winnow-lsp"), protocol_cls=Protocol, converter_factory=converter)
        self.loop = asyncio.get_running_loop()
        self.left = False
        self.configured = asyncio.Event()
        self.folders = Folders()
        self.initial_options: object = None
        self.settings, _ = Settings.read()
        self.conversations: dict[str, list[Turn]] = {}
        self.cancel_by_token: dict[types.ProgressToken, Callable[[], object]] = {}
        self.questions: list[asyncio.Task[Any]] = []
        self.superseded: set[asyncio.Task[Any]] = set()
        self.in_order = asyncio.Lock()  # for what a question waits for before it stands in the queue
        self.status = Status(self)
        self.indexer = Indexer(self)
        self.pages = Pages(self)
        self.watcher = Watcher(self)
        self._engines = engines
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """The models the settings name, loading from the first use on."""
        if self._engine is None:
            self._engine = self._engines.acquire(self.settings.models)
            self._engine.watch(self.status.changed)
            if host := self._engine.target.host:
                self.tell(types.MessageType.Info, f"Winnow: answers come from {host}; your code is sent there")
        return self._engine

    async def use(self, settings: Settings) -> None:
        """Take new settings; other models replace the ones before, once these have done what was asked."""
        before, self.settings = self._engine, settings
        if before is None or before.models == settings.models:
            return
        self._engine = None
        try:
            await self.indexer.stop()
            if asked := [*self.questions, *self.indexer.runs]:
                await asyncio.wait(asked)
        finally:
            await self._release(before)

    def document(self, uri: str) -> TextDocument | None:
        """An open document."""
        return next((d for d in self.workspace.text_documents.values() if d.uri == uri), None)

    def sources(self, folders: Folders) -> Sources:
        """The folders as they are now, open documents as they are in the editor. WorkspaceError without a folder."""
        documents = {document.uri: document.source for document in self.workspace.text_documents.values()}
        return folders.sources(self.settings.rules, documents)

    def tell(self, kind: types.MessageType, message: str) -> None:
        """Show a message to the user."""
        self.window_show_message(types.ShowMessageParams(kind, message))

    def cancel_questions(self) -> None:
        """Cancel every question of this client."""
        for task in self.questions:
            task.cancel()

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what no response can carry, and our own bugs; a pop-up would only puzzle the user."""
        answered = isinstance(error, JsonRpcException) and not isinstance(error, JsonRpcInternalError)
        _log.log(logging.INFO if answered else logging.ERROR, "%s", error)

    async def leave(self) -> None:
        """Stop all work for this client and give its models back. Returns when that is done."""
        self.left = True
        self.watcher.stop()
        tasks = self.protocol.tasks
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self.indexer.stop()
        self.status.close()
        self.pages.close()
        if self._engine is not None:
            await self._release(self._engine)

    async def _release(self, engine: Engine) -> None:
        engine.unwatch(self.status.changed)
        await self._engines.release(engine)
