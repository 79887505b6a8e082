"""Streams an answer to the client: the code it will rest on, then its text, piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from lsprotocol import types

from winnow_lsp.server.render.throttle import Notify, Throttle
from winnow_lsp.server.wire.messages import KEPT

_INTERVAL_S = 1 / 60


class Deltas:
    """Sends text as numbered `$/progress` deltas, joined to at most 60 a second; the first goes out at once."""

    def __init__(self, notify: Notify, token: types.ProgressToken | None, started: Callable[[], None]) -> None:
        """`started` is called with the first text."""
        self._notify, self._token, self._started = notify, token, started
        self._loop = asyncio.get_running_loop()
        self._pending: list[str] = []
        self._sequence = 0
        self._throttle = Throttle(self._send, _INTERVAL_S)

    def kept(self, kept: dict[str, Any]) -> None:
        """Send what was kept: `kept_json`. May be called from any thread, before the first text."""
        if self._token is not None:
            self._loop.call_soon_threadsafe(self._notify, KEPT, {"token": self._token, **kept})

    def add(self, text: str) -> None:
        """Send some text soon. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._arrived, text)

    def close(self) -> None:
        """Send what is left. Call it on the event loop after the work has ended: all that it added has arrived then."""
        self._throttle.flush()

    def _arrived(self, text: str) -> None:
        if not self._pending and not self._sequence:
            self._started()
        self._pending.append(text)
        self._throttle.want()

    def _send(self) -> None:
        value = {"kind": "delta", "sequence": self._sequence, "text": "".join(self._pending)}
        self._pending.clear()
        self._sequence += 1
        if self._token is not None:
            self._notify(types.PROGRESS, types.ProgressParams(self._token, value))
