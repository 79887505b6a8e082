"""Work-done progress: the bars a client shows while it waits, each with a button that cancels the work."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.progress import Progress as Notifications

from winnow_engine.core import Kept, Progress
from winnow_lsp.host.reply import Waiting, indexing_line
from winnow_lsp.server.render.deltas import Throttle

_INTERVAL_S = 0.1
_COUNTDOWN_S = 1.0
_CREATE_TIMEOUT_S = 5


class ProgressBar:
    """One bar, nothing without a token. It belongs to the event loop, but for `report` and `kept`."""

    def __init__(
        self, notifications: Notifications, token: types.ProgressToken | None, said: Callable[[ProgressBar], None]
    ) -> None:
        """`said` is called with each new message."""
        self._notifications, self._token, self._said = notifications, token, said
        self._loop = asyncio.get_running_loop()
        self.message, self._percentage = "", 0
        self._begun = self._answers = False
        self._waiting = Waiting()
        self._countdown: asyncio.TimerHandle | None = None
        self._throttle = Throttle(self._send, _INTERVAL_S)

    def begin(self) -> None:
        """Show the bar."""
        if self._token is not None and not self._begun:
            begin = types.WorkDoneProgressBegin("Winnow", cancellable=True, percentage=0)
            self._notifications.begin(self._token, begin)
        self._begun = True

    def say(self, message: str, percentage: int = 0) -> None:
        """Show a message, unless the answer has begun: a chat panel would show it in the middle of the text."""
        if self._answers:
            return
        if self._countdown is not None:
            self._countdown.cancel()
        self.message, self._percentage = message, percentage
        self.begin()
        self._throttle.want()
        self._said(self)

    def answer(self) -> None:
        """Show that the answer begins. This is sent at once, ahead of the first text, and is the last message."""
        self.say("answering", 100)
        self._throttle.flush()
        self._answers = True

    def report(self, progress: Progress) -> None:
        """Show how far the engine is. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._reported, progress)

    def kept(self, kept: Kept) -> None:
        """Show how long the first token is expected to take. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._expected, kept)

    def think(self) -> None:
        """Show that the target thinks, and for how long. Call it on the event loop."""
        self._waiting.think()
        self._count_down(100)

    def end(self) -> None:
        """Take the bar away."""
        if self._countdown is not None:
            self._countdown.cancel()
        self._throttle.flush()
        if self._token is not None and self._begun:
            self._notifications.end(self._token, types.WorkDoneProgressEnd())

    def _reported(self, progress: Progress) -> None:
        share = round(100 * progress.done / progress.total) if progress.total else 0
        if progress.stage == "prefill":
            self._waiting.read(progress)
            self._count_down(share)
        else:
            self.say(indexing_line(progress), share)

    def _expected(self, kept: Kept) -> None:
        self._waiting.kept(kept)
        self._count_down(0)

    def _count_down(self, share: int) -> None:
        """Say what is left now, and again every second until something else is said."""
        if self._answers:
            return
        self.say(self._waiting.line(), share)
        self._countdown = self._loop.call_later(_COUNTDOWN_S, self._count_down, share)

    def _send(self) -> None:
        if self._token is not None:
            report = types.WorkDoneProgressReport(message=self.message, percentage=self._percentage, cancellable=True)
            self._notifications.report(self._token, report)


class ProgressBars:
    """The bars of one client. `running` is that of its question that runs now, if there is one."""

    def __init__(self, client: LanguageServer, changed: Callable[[], None]) -> None:
        """`changed` is called when the message of `running` has."""
        self._client, self._changed = client, changed
        self.running: ProgressBar | None = None
        self._cancel_by_token: dict[types.ProgressToken, Callable[[], object]] = {}

    @asynccontextmanager
    async def show(self, token: types.ProgressToken | None) -> AsyncIterator[ProgressBar]:
        """Offer the block a bar on the client's token; `cancel` cancels the task that runs the block."""
        task = asyncio.current_task()
        assert task is not None
        notifications = self._client.work_done_progress
        bar = ProgressBar(notifications, token, self._said)
        if token is not None:
            self._cancel_by_token[token] = task.cancel
        try:
            yield bar
        finally:
            bar.end()
            if bar is self.running:
                self.running = None
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

    def _said(self, bar: ProgressBar) -> None:
        if bar is self.running:
            self._changed()

    def cancel(self, token: types.ProgressToken) -> None:
        """Cancel the work behind a bar; does nothing if the work has ended."""
        if cancel := self._cancel_by_token.get(token):
            cancel()
