"""The most memory that a part of a benchmark used, on the host and on the device."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psutil

_EVERY_S = 0.05
_CHILDREN_EVERY = 20  # readings: finding them takes milliseconds
_STATUS = Path("/proc/self/status")


@dataclass
class MemoryPeak:
    """Peaks in bytes. `host` is the resident set; `anonymous` leaves out what is mapped from files, such as a model's
    weights. `children` is the proportional set of the processes that this one started. `device` is what the whole
    device has in use, other processes included; None without NVIDIA's library."""

    host: int = 0
    anonymous: int = 0
    device: int | None = None
    children: int = 0

    def note(self, host: int, anonymous: int, device: int | None) -> None:
        """Take another reading into account."""
        self.host, self.anonymous = max(self.host, host), max(self.anonymous, anonymous)
        if device is not None:
            self.device = max(self.device or 0, device)


@contextmanager
def watched() -> Iterator[MemoryPeak]:
    """The peak while the block runs, from a reading every 50 ms (children: a second), one at its start and its end."""
    peak, over, used = MemoryPeak(), threading.Event(), _device_reader()

    def watch() -> None:
        for number in count():
            if over.wait(_EVERY_S):
                return
            peak.note(*_host(), used())
            if number % _CHILDREN_EVERY == 0:
                peak.children = max(peak.children, _children())

    peak.note(*_host(), used())
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()
        peak.note(*_host(), used())


def _host() -> tuple[int, int]:
    """Resident bytes of this process, and those of them that no file backs."""
    if not _STATUS.is_file():
        resident = int(psutil.Process().memory_info().rss)
        return resident, resident
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines() if line.startswith(("VmRSS", "Rss")))
    sizes = {name: int(value.split()[0]) << 10 for name, value in lines.items()}
    return sizes["VmRSS"], sizes["RssAnon"]


def _children() -> int:
    """The memory of all descendants; pages that they share count once."""
    found = 0
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            whole = child.memory_full_info()
            found += int(getattr(whole, "pss", whole.rss))
    return found


class _Used(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def _device_reader() -> Callable[[], int | None]:
    """Reads the bytes in use on the first device, through a library that needs no context on it."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return lambda: None
    handle, found = ctypes.c_void_p(), _Used()
    if library.nvmlInit_v2() or library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)):
        return lambda: None

    def used() -> int | None:
        return None if library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(found)) else int(found.used)

    return used
