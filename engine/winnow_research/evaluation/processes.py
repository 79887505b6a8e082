"""Work spread over processes, each of which opens what it needs once, for all items it works on."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

from threadpoolctl import threadpool_limits

from winnow_research.errors import EvaluationError

Opened = TypeVar("Opened", covariant=True)
T = TypeVar("T")
R = TypeVar("R")


class Spread(Protocol[Opened]):
    """Works on items with what was opened."""

    def __call__(self, work: Callable[[Opened, T], R], items: Sequence[T]) -> Iterator[R]:
        """work(opened, item) for every item, in order. `work` must be a function of a module, so that it pickles.

        EvaluationError if a process dies. What `work` raises is raised.
        """


@contextmanager
def spread(jobs: int, here: AbstractContextManager[Opened], start: Callable[[], Opened]) -> Iterator[Spread[Opened]]:
    """`jobs` processes, each with what `start` opens; for one job this process, with what `here` opens."""
    if jobs > 1:
        with processes(jobs, start) as several:
            yield several
    else:
        with here as opened:
            yield lambda work, items: (work(opened, item) for item in items)


@contextmanager
def processes(jobs: int, start: Callable[[], Opened]) -> Iterator[Spread[Opened]]:
    """`jobs` processes that share the cores. `start`, which must pickle, opens what each of them works with."""
    # Forking would share CUDA contexts and locks that threads hold.
    context = multiprocessing.get_context("spawn")
    threads = max(1, (os.cpu_count() or 1) // jobs)
    pool = ProcessPoolExecutor(jobs, context, initializer=_start, initargs=(start, threads))

    def all_of(work: Callable[[Opened, T], R], items: Sequence[T]) -> Iterator[R]:
        for done in [pool.submit(_do, work, item) for item in items]:
            try:
                yield done.result()
            except BrokenProcessPool as error:
                raise EvaluationError("a process died, most likely for lack of memory: use fewer --jobs") from error

    try:
        yield all_of
    finally:
        pool.shutdown(cancel_futures=True)


_opened: list[Any] = []
"""What this process opened, if it belongs to a pool; one item at most."""


def _start(start: Callable[[], Any], threads: int) -> None:
    """Set up a process of the pool. Only the process that started it handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(threads)
    _opened.append(start())


def _do(work: Callable[[Any, T], R], item: T) -> R:
    return work(_opened[0], item)
