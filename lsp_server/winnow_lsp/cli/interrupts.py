"""Ctrl-C as cancellation."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from winnow_engine.core import Cancellation


@contextmanager
def cancel_on_interrupt() -> Iterator[Cancellation]:
    """A cancellation that the first Ctrl-C sets; a second one interrupts at once."""
    cancellation = Cancellation()

    def on_interrupt(_signal: int, _frame: FrameType | None) -> None:
        if cancellation.cancelled:
            raise KeyboardInterrupt
        cancellation.cancel()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield cancellation
    finally:
        signal.signal(signal.SIGINT, before)
