"""Work-done progress: the bars a client shows while it waits, each with a button that cancels the work."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.progress import Progress as Notifications

from winnow_engine.core import Progress
from winnow_lsp.server.render.throttle import Throttle

_INTERVAL_S = 0.1
_CREATE_TIMEOUT_S = 5
_WORDS = {"index": ("indexing", "files"), "prefill": ("reading", "tokens")}


class ProgressBar:
    """One bar, from `begin` to `end`. It begins with the first message at the latest; without a token nothing is sent.

    Belongs to the event loop, but for `report`.
    """

    def __init__(self, notifications: Notifications, token: types.ProgressToken | None, title: str) -> None:
        self._notifications, self._token, self._title = notifications, token, title
        self._loop = asyncio.get_running_loop()
        self._message, self._percentage = "", 0
        self._begun = False
        self._throttle = Throttle(self._send, _INTERVAL_S)

    def begin(self) -> None:
        """Show the bar."""
        if self._token is not None and not self._begun:
            begin = types.WorkDoneProgressBegin(self._title, cancellable=True, percentage=0)
            self._notifications.begin(self._token, begin)
        self._begun = True

    def say(self, message: str, percentage: int = 0) -> None:
        """Show a message."""
        self._message, self._percentage = message, percentage
        self.begin()
        self._throttle.want()

    def report(self, progress: Progress) -> None:
        """Show how far the engine is. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._reported, progress)

    def end(self) -> None:
        """Take the bar away."""
        self._throttle.flush()
        if self._token is not None and self._begun:
            self._notifications.end(self._token, types.WorkDoneProgressEnd())

    def _reported(self, progress: Progress) -> None:
        doing, things = _WORDS.get(progress.stage, (progress.stage, ""))
        share = round(100 * progress.done / progress.total) if progress.total else 0
        self.say(f"{doing} {progress.done:,} of {progress.total:,} {things}".strip(), share)

    def _send(self) -> None:
        if self._token is not None:
            report = types.WorkDoneProgressReport(message=self._message, percentage=self._percentage, cancellable=True)
            self._notifications.report(self._token, report)


class ProgressBars:
    """The bars of one client."""

    def __init__(self, client: LanguageServer) -> None:
        self._client = client
        self._cancel_by_token: dict[types.ProgressToken, Callable[[], object]] = {}

    @asynccontextmanager
    async def show(self, token: types.ProgressToken | None, title: str) -> AsyncIterator[ProgressBar]:
        """Offer the block a bar on the client's token; `cancel` cancels the task that runs the block."""
        task = asyncio.current_task()
        assert task is not None
        notifications = self._client.work_done_progress
        bar = ProgressBar(notifications, token, title)
        if token is not None:
            self._cancel_by_token[token] = task.cancel
        try:
            yield bar
        finally:
            bar.end()
            if token is not None:
                self._cancel_by_token.pop(token, None)
                notifications.tokens.pop(token, None)

    async def new_token(self) -> types.ProgressToken | None:
        """A token for a bar that the server begins, or None if the client does not show such bars."""
        window = self._client.client_capabilities.window
        if not (window and window.work_done_progress):
            return None
        token = str(uuid.uuid4())
        try:
            async with asyncio.timeout(_CREATE_TIMEOUT_S):  # not wait_for, which may swallow a cancellation
                await self._client.work_done_progress.create_async(token)
        except Exception:  # a client that refuses its own offer, or does not answer, gets no bar
            return None
        return token

    def cancel(self, token: types.ProgressToken) -> None:
        """Cancel the work behind a bar; does nothing if the work has ended."""
        if cancel := self._cancel_by_token.get(token):
            cancel()
