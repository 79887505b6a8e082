"""Where the time of a question went."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Wall time by stage since the question came."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._started = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the question came."""
        return time.perf_counter() - self._started

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time within as that of a stage."""
        started = time.perf_counter()
        yield
        self.stages[name] = time.perf_counter() - started
