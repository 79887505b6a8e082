"""From a device to the CPU: work goes to a first backend until its device fails, then to a second for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from winnow_cuda.device import DeviceError

B = TypeVar("B")
T = TypeVar("T")
Notify = Callable[[str], None]


class Fallback(Generic[B]):
    """Holds the backend in use; `second` makes the other one, `notify` gets one sentence when it takes over."""

    def __init__(self, first: B, second: Callable[[], B], notify: Notify) -> None:
        self._backend, self._second, self._notify = first, second, notify
        self._failed = False

    def run(self, work: Callable[[B], T]) -> T:
        """`work` on the backend in use; again on the second if the first's device fails at it."""
        try:
            return work(self._backend)
        except DeviceError as error:
            if not self._failed:
                self._failed = True
                self._backend = self._second()
                self._notify(given_up(error))
        return work(self._backend)


def given_up(error: DeviceError) -> str:
    """What the user is told."""
    return f"the drafter goes on on the CPU, because the GPU failed ({error})"
