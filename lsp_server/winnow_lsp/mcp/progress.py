"""Progress of a call, told to the client a few times a second."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from winnow_engine.core import Kept, Progress
from winnow_lsp.host.waiting import Waiting

_EVERY_S = 0.5
_MOST_PLACES = 5

Send = Callable[[float, str], Awaitable[None]]  # sends a number that grows and a line to the client


class Reports:
    """The line that a call shows: `async with` sends it whenever it has changed. Its sinks take any thread."""

    def __init__(self, send: Send) -> None:
        self._send, self._waiting = send, Waiting()
        self._line = ""

    def moved(self, before: int) -> None:
        """Note how many questions come first."""
        self._line = f"waiting, {before} before this one" if before else "searching"

    def progress(self, progress: Progress) -> None:
        """Note how far the index is, or the target with the prompt."""
        self._line = self._waiting.reported(progress)

    def kept(self, kept: Kept) -> None:
        """Note what the answer will rest on."""
        self._waiting.kept(kept)
        places = [f"{span.path}:{span.start_line}-{span.end_line}" for span in kept.spans[:_MOST_PLACES]]
        self._line = f"{self._waiting.line()}; found {', '.join(places)}" if places else self._waiting.line()

    def text(self, _: str) -> None:
        """Note that the answer is being written."""
        self._line = "answering"

    async def __aenter__(self) -> Reports:
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _follow(self) -> None:
        sent, said = 0.0, ""
        while True:
            await asyncio.sleep(_EVERY_S)
            if self._line != said:
                sent, said = sent + 1, self._line
                await self._send(sent, said)
