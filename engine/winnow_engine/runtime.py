"""Support for running: a clock by stage, the number of cores, and loading in the background."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Generic, TypeVar

from winnow_engine.core import Cancellation

T = TypeVar("T")

_POLL_S = 0.05


class Clock:
    """Wall-clock time by stage, counted from the start of a question."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._started = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Record the time spent inside the `with` block as that of a stage."""
        started = time.perf_counter()
        yield
        self.stages[name] = time.perf_counter() - started


def physical_cores() -> int:
    """Physical cores that this process may use on Linux; all logical cores elsewhere."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    cpus = os.sched_getaffinity(0)
    siblings = [Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in cpus]
    return len({path.read_text() for path in siblings if path.is_file()}) or len(cpus)


class Loading(Generic[T]):
    """Loads something slow once, on a thread of its own.

    The thread is not a daemon: a daemon inside llama.cpp at interpreter shutdown would crash the process.
    """

    def __init__(self, load: Callable[[], T]) -> None:
        self._future: Future[T] = Future()
        self._thread = Thread(target=self._run, args=(load,))
        self._thread.start()

    @property
    def over(self) -> bool:
        """Whether loading has ended, successfully or not."""
        return self._future.done()

    @property
    def error(self) -> BaseException | None:
        """What loading raised, or None if it is running or has succeeded."""
        return self._future.exception() if self._future.done() else None

    @property
    def loaded(self) -> T | None:
        """The loaded thing, or None if it is not loaded."""
        return self._future.result() if self._future.done() and not self._future.exception() else None

    def when_over(self, call: Callable[[], None]) -> None:
        """Call `call` when loading ends, on its thread, or at once if it has ended."""
        self._future.add_done_callback(lambda _: call())

    def wait_for(self, cancellation: Cancellation) -> T:
        """The loaded thing, or what loading raised; CancelledError as soon as cancelled."""
        while not self._future.done():
            cancellation.check()
            wait((self._future,), timeout=_POLL_S)
        return self._future.result()

    def raise_if_failed(self) -> None:
        """Raise what loading raised, if it is over and did; a long wait for nothing is spared that way."""
        if self._future.done():
            self._future.result()

    def settle(self) -> T | None:
        """Wait until loading is over; the loaded thing if it worked."""
        self._thread.join()
        return None if self._future.exception() else self._future.result()

    def _run(self, load: Callable[[], T]) -> None:
        try:
            self._future.set_result(load())
        except BaseException as error:
            self._future.set_exception(error)
