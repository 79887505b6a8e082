"""Work-done progress: what a client shows while it waits, and its cancel button."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from lsprotocol import types

from winnow_engine.core import Progress
from winnow_lsp.server.render.throttle import Throttle

if TYPE_CHECKING:
    from winnow_lsp.server.server import WinnowServer

_INTERVAL_S = 0.1
_CREATE_TIMEOUT_S = 5
_WORDS = {"index": ("indexing", "files"), "prefill": ("reading", "tokens")}


class WorkDone:
    """One progress, from `begin` to `end`; silent without a token. It begins with the first report, or when told."""

    def __init__(self, server: WinnowServer, token: types.ProgressToken | None, title: str) -> None:
        self._server, self._token, self._title = server, token, title
        self._loop = asyncio.get_running_loop()
        self._message, self._percentage = "", 0
        self._begun = False
        self._throttle = Throttle(self._send, _INTERVAL_S)

    def begin(self) -> None:
        """Show the progress."""
        if self._token is not None and not self._begun:
            begin = types.WorkDoneProgressBegin(self._title, cancellable=True, percentage=0)
            self._server.work_done_progress.begin(self._token, begin)
        self._begun = True

    def say(self, message: str, percentage: int = 0) -> None:
        """Show a message."""
        self._message, self._percentage = message, percentage
        self.begin()
        self._throttle.want()

    def report(self, progress: Progress) -> None:
        """Show how far the engine is; from any thread."""
        self._loop.call_soon_threadsafe(self._reported, progress)

    def end(self) -> None:
        """Take the progress away."""
        self._throttle.flush()
        if self._token is not None and self._begun:
            self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd())

    def _reported(self, progress: Progress) -> None:
        doing, things = _WORDS.get(progress.stage, (progress.stage, ""))
        share = round(100 * progress.done / progress.total) if progress.total else 0
        self.say(f"{doing} {progress.done:,} of {progress.total:,} {things}".strip(), share)

    def _send(self) -> None:
        if self._token is not None:
            report = types.WorkDoneProgressReport(message=self._message, percentage=self._percentage, cancellable=True)
            self._server.work_done_progress.report(self._token, report)


@asynccontextmanager
async def work_done(server: WinnowServer, token: types.ProgressToken | None, title: str) -> AsyncIterator[WorkDone]:
    """Progress on the client's token; cancelling it there cancels the task inside."""
    task = asyncio.current_task()
    assert task is not None
    shown = WorkDone(server, token, title)
    if token is not None:
        server.cancel_by_token[token] = task.cancel
    try:
        yield shown
    finally:
        shown.end()
        if token is not None:
            server.cancel_by_token.pop(token, None)
            server.work_done_progress.tokens.pop(token, None)


async def new_token(server: WinnowServer) -> types.ProgressToken | None:
    """A token for progress the server begins; None where the client shows no such progress."""
    window = server.client_capabilities.window
    if not (window and window.work_done_progress):
        return None
    token = str(uuid.uuid4())
    try:
        async with asyncio.timeout(_CREATE_TIMEOUT_S):  # not wait_for, which may swallow a cancellation
            await server.work_done_progress.create_async(token)
    except Exception:  # a client that refuses its own offer, or does not answer, gets no progress
        return None
    return token
