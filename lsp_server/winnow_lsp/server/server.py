"""One client's server: makes its parts and connects them to each other."""

from __future__ import annotations

import asyncio
import logging
from importlib.metadata import version
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from winnow_engine.question import Turn
from winnow_lsp.host.engines import Engine, Engines
from winnow_lsp.host.settings import Settings
from winnow_lsp.server.render.markdown import Pages
from winnow_lsp.server.render.progress_bars import ProgressBars
from winnow_lsp.server.render.status import Status, status_json
from winnow_lsp.server.session.editor import EditorState, Questions
from winnow_lsp.server.session.indexing import Indexer
from winnow_lsp.server.session.watching import FileWatcher
from winnow_lsp.server.wire.protocol import StrictProtocol, converter

_log = logging.getLogger(__name__)


class WinnowServer(LanguageServer):
    """State and services that the features share. All of it belongs to the event loop."""

    protocol: StrictProtocol

    def __init__(self, engines: Engines, *, lingers: bool = False) -> None:
        """With `lingers` the index is completed for a client that has left in order: a command asks and is gone."""
        super().__init__("winnow", version("winnow-lsp"), protocol_cls=StrictProtocol, converter_factory=converter)
        self.editor = EditorState(lambda: self.workspace.text_documents.values())
        self.questions = Questions()
        self.conversations: dict[str, list[Turn]] = {}
        self.pages = Pages(self)
        self.status = Status(self._status_json, self.protocol.notify)
        self.bars = ProgressBars(self, self.status.changed)
        self.indexer = Indexer(self.editor, self.acquire, self.bars, self.status.changed)
        self.watcher = FileWatcher(self.editor, self, self.indexer.changed)
        self.engines, self._lingers = engines, lingers
        self.engine: Engine | None = None  # what `acquire` returned
        self._acquiring = asyncio.Lock()

    async def acquire(self) -> Engine:
        """The models that the settings name. They begin to load when this is first called."""
        async with self._acquiring:  # those who wait go on in order
            while self.engine is None:
                settings = self.editor.settings
                models = await self.engines.named(settings.models)
                if settings is not self.editor.settings:
                    continue
                self.engine = self.engines.acquire(models)
                self.engine.watchers.append(self.status.changed)
                self.status.changed()
                if host := self.engine.target.host:
                    self.tell(types.MessageType.Info, f"Winnow: answers come from {host}; your code is sent there")
            return self.engine

    async def use(self, settings: Settings) -> None:
        """Take new settings. Models that they replace are released once they have done what was asked of them."""
        before, old, self.editor.settings = self.engine, self.editor.settings, settings
        self.engines.use(settings, self.editor)
        if before is None or old.models.loaded == settings.models.loaded:
            await self.acquire()
            return
        self.engine = None
        before.queue.restart_background()  # nobody needs what it reads ahead
        self.engines.replace(before)
        # Later questions, and those that wait for settings, are for the next target, which waits for this one to go.
        asked = [*(self.questions.tasks if self.editor.configured.is_set() else ()), *self.indexer.runs]
        try:
            await self.acquire()
            await self.indexer.stop()
            if asked:
                await asyncio.wait(asked)
        finally:
            await self._release(before)

    def tell(self, kind: types.MessageType, message: str) -> None:
        """Show a message to the user."""
        self.window_show_message(types.ShowMessageParams(kind, message))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what no response can carry, and our own bugs; a pop-up would only puzzle the user."""
        answered = isinstance(error, JsonRpcException) and not isinstance(error, JsonRpcInternalError)
        _log.log(logging.INFO if answered else logging.ERROR, "%s", error)

    async def leave(self) -> None:
        """Stop all work for this client and release its models. Returns when that is done."""
        self.status.close()
        self.watcher.close()
        tasks = self.protocol.tasks
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        try:
            if self._lingers and self.protocol.orderly:
                await self.indexer.finish()
        finally:
            await self.indexer.stop()
            self.pages.close()
            self.engines.leave(self.editor)
            if self.engine is not None:
                await self._release(self.engine)

    def _status_json(self) -> dict[str, Any]:
        doing = self.bars.running.message if self.bars.running else ""
        engine = self.engine if self.editor.configured.is_set() else None  # not "ready" before the index is begun
        return status_json(engine, self.indexer.state, doing) if engine else {}

    async def _release(self, engine: Engine) -> None:
        engine.watchers.remove(self.status.changed)
        await self.engines.release(engine)
