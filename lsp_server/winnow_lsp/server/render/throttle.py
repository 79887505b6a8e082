"""Limits how often a client is notified."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

Notify = Callable[[str, object], None]
"""Sends a notification: its method and its parameters."""


class Throttle:
    """Calls `send` on the event loop: at once when asked for, and again no sooner than `interval_s` later."""

    def __init__(self, send: Callable[[], None], interval_s: float) -> None:
        self._send, self._interval_s = send, interval_s
        self._wanted = False
        self._timer: asyncio.TimerHandle | None = None

    def want(self) -> None:
        """Ask for a call of `send`."""
        self._wanted = True
        if self._timer is None:
            self._fire()

    def flush(self) -> None:
        """Make the call that is due, if any, without waiting any longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._wanted:
            self._wanted = False
            self._send()

    def _fire(self) -> None:
        self._timer = None
        if self._wanted:
            self._wanted = False
            self._send()
            self._timer = asyncio.get_running_loop().call_later(self._interval_s, self._fire)
