"""`send` is called at once, and then no more often than asked; a clock of our own stands in for the loop's."""

import asyncio
from collections.abc import Callable

import pytest

from winnow_lsp.server.render.deltas import Throttle


class Clock:
    """Runs what `call_later` was given when told that the time has come."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.due: list[tuple[asyncio.TimerHandle, Callable[[], None]]] = []
        self._loop = asyncio.get_running_loop()
        self._call_later = self._loop.call_later
        monkeypatch.setattr(self._loop, "call_later", self._later)

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


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def sent() -> list[int]:
    return []


@pytest.fixture
async def throttle(clock: Clock, sent: list[int]) -> Throttle:
    return Throttle(lambda: sent.append(len(sent)), 0.1)


async def test_the_first_goes_out_at_once_and_the_rest_are_joined(clock: Clock, throttle: Throttle, sent) -> None:
    throttle.want()
    assert sent == [0]
    for _ in range(5):
        throttle.want()
    assert sent == [0]
    clock.tick()
    assert sent == [0, 1]


async def test_flushing_sends_what_is_due_and_nothing_after(clock: Clock, throttle: Throttle, sent) -> None:
    throttle.want()
    throttle.want()
    throttle.flush()
    assert sent == [0, 1]
    clock.tick()
    throttle.flush()
    assert sent == [0, 1]
