"""Streams an answer to the client: the code it will rest on, then thought and text, piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from lsprotocol import types

from winnow_lsp.server.wire.messages import KEPT

Notify = Callable[[str, object], None]  # sends a notification: its method and its parameters


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
            self.flush()
            self._timer = asyncio.get_running_loop().call_later(self._interval_s, self._fire)


_INTERVAL_S = 1 / 60


class Deltas:
    """Sends it as numbered `$/progress` deltas, at most 60 a second, the first at once; `text` is the answer so far."""

    def __init__(
        self,
        notify: Notify,
        token: types.ProgressToken | None,
        started: Callable[[], None],
        thinks: Callable[[], None] = lambda: None,
    ) -> None:
        """`started` is called with the first text of the answer, `thinks` with the first of a thought."""
        self._notify, self._token = notify, token
        self._begins = {"text": started, "thinking": thinks}
        self._loop = asyncio.get_running_loop()
        self._pending: dict[str, list[str]] = {"text": [], "thinking": []}
        self._sentences: list[dict[str, Any]] = []
        self._sequence, self.text = 0, ""
        self._throttle = Throttle(self._send, _INTERVAL_S)

    def kept(self, kept: dict[str, Any]) -> None:
        """Send what was kept: `kept_json`. May be called from any thread, before the first text."""
        if self._token is not None:
            self._loop.call_soon_threadsafe(self._notify, KEPT, {"token": self._token, **kept})

    def add(self, text: str) -> None:
        """Send some text of the answer soon. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._arrived, "text", text)

    def think(self, text: str) -> None:
        """Send some text of a thought soon. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._arrived, "thinking", text)

    def sentence(self, sentence: dict[str, Any]) -> None:
        """Send a `sentence_json` soon, after the text so far. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._attributed, sentence)

    def close(self) -> None:
        """Send what is left. Call it on the event loop after the work has ended: all that it added has arrived then."""
        self._throttle.flush()

    def _arrived(self, field: str, text: str) -> None:
        if begin := self._begins.pop(field, None):
            begin()
        self._pending[field].append(text)
        self.text += text if field == "text" else ""
        self._throttle.want()

    def _attributed(self, sentence: dict[str, Any]) -> None:
        self._sentences.append(sentence)
        self._throttle.want()

    def _send(self) -> None:
        text, thinking = ("".join(self._pending[field]) for field in ("text", "thinking"))
        value: dict[str, Any] = {"kind": "delta", "sequence": self._sequence, "text": text}
        if thinking:
            value["thinking"] = thinking
        if self._sentences:
            value["sentences"], self._sentences = self._sentences, []
        self._pending = {"text": [], "thinking": []}
        self._sequence += 1
        if self._token is not None:
            self._notify(types.PROGRESS, types.ProgressParams(self._token, value))
