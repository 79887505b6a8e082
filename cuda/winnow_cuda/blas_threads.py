"""BLAS with one thread, for work that is parallel by itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


class OneThread:
    """Holds BLAS at one thread while anybody wants that; whoever comes last gives the threads back."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._limit: Any = None

    @contextmanager
    def wanted(self) -> Iterator[None]:
        """BLAS has one thread inside the `with` block, in the whole process."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                _take_control()
                self._limit = _pools().limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    _take_control()
                    self._limit.restore_original_limits()


@cache
def _pools() -> ThreadpoolController:
    """The thread pools of this process. Looking for them takes 2 to 8 ms."""
    return ThreadpoolController()


def _take_control() -> None:
    """Let this thread set the number. From threadpoolctl 3.8 only the first thread that did so can; others set nothing.

    Keys would depend on it: with two threads BLAS sums in another order than with one.
    """
    for pool in _pools().lib_controllers:
        if hasattr(pool, "clear_controlling_thread"):
            pool.clear_controlling_thread(force=True)


one_blas_thread = OneThread().wanted
