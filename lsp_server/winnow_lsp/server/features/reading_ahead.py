"""`winnow/readAhead`: while the user types a question, the target reads what its prompt will begin with."""

from __future__ import annotations

import logging

import psutil

from winnow_engine.core import Cancellation
from winnow_engine.errors import WinnowError
from winnow_engine.question import Cursor
from winnow_lsp.host.queue import Work
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.wire.messages import READ_AHEAD, AskedFrom

_log = logging.getLogger(__name__)


def register(server: WinnowServer) -> None:
    """Take the notification."""

    @server.feature(READ_AHEAD)
    async def read_ahead(params: AskedFrom) -> None:
        await server.editor.configured.wait()
        follows = bool(server.conversations.get(params.conversation or ""))
        if follows or not server.editor.settings.read_ahead or _on_battery():
            return
        try:
            await _read_ahead(server, params)
        except WinnowError as error:  # the question itself will say it
            _log.info("nothing was read ahead: %s", error)


async def _read_ahead(server: WinnowServer, params: AskedFrom) -> None:
    engine, folders = server.engine, server.editor.folders

    def prepare() -> Work[int]:
        cursor: Cursor | None = None
        if params.text_document is not None and params.range is not None:
            cursor = folders.cursor(params.text_document.uri, params.range)
        sources, assistant = server.editor.sources(folders), engine.assistant()

        def work(cancellation: Cancellation) -> int:
            return assistant.read_ahead(sources, cursor, cancellation)

        return work

    tokens = await engine.queue.spare(prepare)
    _log.info("read %s tokens ahead", tokens or 0)


def _on_battery() -> bool:
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return battery is not None and battery.power_plugged is False
