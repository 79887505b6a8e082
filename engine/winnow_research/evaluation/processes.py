"""Work spread over processes, each of which opens once what all its tasks need."""

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

from winnow_engine.errors import EvaluationError

Opened = TypeVar("Opened", covariant=True)
T = TypeVar("T")
R = TypeVar("R")


class Spread(Protocol[Opened]):
    """Does tasks with what is opened."""

    def __call__(self, work: Callable[[Opened, T], R], tasks: Sequence[T]) -> Iterator[R]:
        """work(opened, task) of every task, in their order. `work` must be a function of a module.

        EvaluationError if a process dies; what a task raises is raised.
        """


@contextmanager
def spread(jobs: int, here: AbstractContextManager[Opened], start: Callable[[], Opened]) -> Iterator[Spread[Opened]]:
    """`jobs` processes, each with what `start` opens, or for one job this process, with what `here` does."""
    if jobs > 1:
        with processes(jobs, start) as several:
            yield several
    else:
        with here as opened:
            yield lambda work, tasks: (work(opened, task) for task in tasks)


@contextmanager
def processes(jobs: int, start: Callable[[], Opened]) -> Iterator[Spread[Opened]]:
    """`jobs` processes that share the cores; `start`, which must pickle, opens what each of them works with."""
    # Forking would share CUDA contexts and locks that threads hold.
    context = multiprocessing.get_context("spawn")
    threads = max(1, (os.cpu_count() or 1) // jobs)
    pool = ProcessPoolExecutor(jobs, context, initializer=_start, initargs=(start, threads))

    def all_of(work: Callable[[Opened, T], R], tasks: Sequence[T]) -> Iterator[R]:
        for done in [pool.submit(_do, work, task) for task in tasks]:
            try:
                yield done.result()
            except BrokenProcessPool as error:
                raise EvaluationError("a process died, most likely for lack of memory: use fewer --jobs") from error

    try:
        yield all_of
    finally:
        pool.shutdown(cancel_futures=True)


_opened: list[Any] = []
"""The one of this process, where it is a pool's."""


def _start(start: Callable[[], Any], threads: int) -> None:
    """Make a process of the pool ready. Ctrl-C is for the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(threads)
    _opened.append(start())


def _do(work: Callable[[Any, T], R], task: T) -> R:
    return work(_opened[0], task)
