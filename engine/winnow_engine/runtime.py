"""Support for running: clocks by stage, work ahead of its consumer, loading in the background."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

from winnow_engine.core import Cancellation
from winnow_engine.errors import CancelledError

T = TypeVar("T")
W = TypeVar("W")

_POLL_S = 0.05


class Clock:
    """Wall-clock time by stage, counted from the start of a question."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._started, self._in_stages = time.perf_counter(), 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Record the time inside the `with` block as that of a stage, less that of stages within it."""
        started, before = time.perf_counter(), self._in_stages
        yield
        took = time.perf_counter() - started
        self.stages[name], self._in_stages = took - (self._in_stages - before), before + took


def mapped_ahead(
    pool: ThreadPoolExecutor,
    work: Callable[[T], W],
    items: Iterable[T],
    most: int,
    weight: Callable[[T], int] = lambda _: 1,
) -> Iterator[tuple[T, W]]:
    """Every item with the result of `work` on it, in order.

    A result that is there does not wait for further items. While the consumer is busy, items of up to `most` in weight
    are worked on ahead, or one that is heavier. Leaving early starts no more work; the pool waits for what has started.
    """
    waiting: deque[tuple[T, Future[W]]] = deque()
    held = 0
    try:
        for item in items:
            waiting.append((item, pool.submit(work, item)))
            held += weight(item)
            while waiting and (waiting[0][1].done() or (held > most and len(waiting) > 1)):
                first, future = waiting.popleft()
                held -= weight(first)
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()
    finally:
        for _, future in waiting:
            future.cancel()


def batches(items: Iterable[T], most: int, weight: Callable[[T], int]) -> Iterator[list[T]]:
    """Items together until they weigh `most`. It goes by the items alone."""
    batch: list[T] = []
    held = 0
    for item in items:
        batch.append(item)
        held += weight(item)
        if held >= most:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


class FairLock:
    """Admits so many threads at once, in order of arrival: one that leaves hands its place to the next."""

    def __init__(self, places: int) -> None:
        self._lock, self._free = Lock(), places
        self._waiting: deque[Event] = deque()

    @contextmanager
    def held(self, cancellation: Cancellation) -> Iterator[None]:
        """A place inside the `with` block. Raises CancelledError while it waits for one."""
        turn = Event()
        with self._lock:
            if self._free:
                self._free -= 1
                turn.set()
            else:
                self._waiting.append(turn)
        try:
            while not turn.wait(_POLL_S):
                cancellation.check()
            yield
        finally:
            self._leave(turn)

    def _leave(self, turn: Event) -> None:
        with self._lock:
            if not turn.is_set():
                self._waiting.remove(turn)
            elif self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1


class BackgroundWriter:
    """Does calls one after the other on a thread of its own.

    Adding waits while `most` are waiting. Leaving the `with` block waits for all of them. An error of a call is raised
    there, or by the next `add`; later calls are not done.
    """

    def __init__(self, most: int) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._waiting: deque[Future[None]] = deque()
        self._most, self._failed = most, False

    def add(self, call: Callable[[], None]) -> None:
        """Have a call done later."""
        self._waiting.append(self._pool.submit(self._do, call))
        while len(self._waiting) > self._most:
            self._waiting.popleft().result()

    def __enter__(self) -> BackgroundWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True)
        for future in self._waiting:
            future.result()

    def _do(self, call: Callable[[], None]) -> None:
        if not self._failed:
            self._failed = True
            call()
            self._failed = False


class Loading(Generic[T]):
    """Loads something slow once, on a thread of its own, no daemon: that would crash llama.cpp at shutdown."""

    def __init__(self, load: Callable[[], T], *, at_once: bool = True) -> None:
        self._future: Future[T] = Future()
        self._thread = Thread(target=self._run, args=(load,))
        self._first, self._begun = Lock(), False
        if at_once:
            self.begin()

    def begin(self) -> None:
        """Load it, unless that has begun."""
        if self._is_first():
            self._thread.start()

    @property
    def over(self) -> bool:
        """True once loading has ended, successfully or not."""
        return self._future.done()

    @property
    def error(self) -> BaseException | None:
        """The error of loading, or None if it is running or has succeeded."""
        return self._future.exception() if self._future.done() else None

    @property
    def loaded(self) -> T | None:
        """The loaded thing, or None if it is not loaded."""
        return self._future.result() if self._future.done() and not self._future.exception() else None

    def when_over(self, call: Callable[[], None]) -> None:
        """Call `call` when loading ends, on its thread, or at once if it has ended."""
        self._future.add_done_callback(lambda _: call())

    def wait_for(self, cancellation: Cancellation) -> T:
        """The loaded thing. Raises the error of loading; CancelledError as soon as cancelled."""
        self.wait_at_most(math.inf, cancellation)
        return self._future.result()

    def wait_at_most(self, seconds: float, cancellation: Cancellation) -> T | None:
        """As `wait_for`, but None if it is not loaded within so many seconds from now."""
        self.begin()
        wait_until = time.monotonic() + seconds
        while not self._future.done() and time.monotonic() < wait_until:
            cancellation.check()
            wait((self._future,), timeout=_POLL_S)
        return self._future.result() if self._future.done() else None

    def raise_if_failed(self) -> None:
        """Raise the error of loading if there is one already; that spares a long wait for nothing."""
        if self._future.done():
            self._future.result()

    def settle(self) -> T | None:
        """Wait until loading is over; the loaded thing if it worked. What has not begun never will."""
        if self._is_first():
            self._future.set_exception(CancelledError("nobody needed it"))
        else:
            self._thread.join()
        return None if self._future.exception() else self._future.result()

    def _is_first(self) -> bool:
        with self._first:
            begun, self._begun = self._begun, True
        return not begun

    def _run(self, load: Callable[[], T]) -> None:
        try:
            self._future.set_result(load())
        except BaseException as error:
            self._future.set_exception(error)
