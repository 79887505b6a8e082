"""`send` is called at once, and then no more often than asked; a clock of our own stands in for the loop's."""

import asyncio
from collections.abc import Callable

import pytest

from winnow_lsp.server.render.deltas import Throttle


class Clock:
    """Runs what `call_later` was given when told that the time has come."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.due: list[tuple[asyncio.TimerHandle, Callable[[], None]]] = []
        self._call_later = (loop := asyncio.get_running_loop()).call_later
        monkeypatch.setattr(loop, "call_later", self._later)

    def _later(self, delay: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        handle = self._call_later(3600, call)
        self.due.append((handle, call))
        return handle

    def tick(self) -> None:
        """An interval has passed."""
        due, self.due = self.due, []
        for handle, call in due:
            if not handle.cancelled():
                handle.cancel()
                call()


@pytest.mark.parametrize("flushes", [False, True])
async def test_the_first_goes_out_at_once_and_the_rest_joined_when_due(
    flushes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, sent = Clock(monkeypatch), list[int]()
    throttle = Throttle(lambda: sent.append(len(sent)), 0.1)
    for _ in range(5):
        throttle.want()
        assert sent == [0]
    for due in (throttle.flush if flushes else clock.tick, clock.tick, throttle.flush):
        due()
        assert sent == [0, 1]
