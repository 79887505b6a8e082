"""Linux's inotify: which directories changed since they were last asked about.

The system queues a change before the call that makes it returns. So whoever reads the queue knows of all changes until
then, which watchers that tell later, on a thread of their own, cannot say.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import weakref
from collections.abc import Iterator

_EVENT = struct.Struct("iIII")
_READ_BYTES = 1 << 16
_CREATE, _DELETE, _FROM, _TO = 0x100, 0x200, 0x40, 0x80
_MODIFY, _ATTRIBUTES, _SELF_GONE, _SELF_MOVED = 0x2, 0x4, 0x400, 0x800
_CHANGES = _CREATE | _DELETE | _FROM | _TO | _MODIFY | _ATTRIBUTES | _SELF_GONE | _SELF_MOVED
_ONLY_DIRECTORIES, _NO_LINKS = 0x01000000, 0x02000000
_OF_DIRECTORY, _OVERFLOW, _UNMOUNTED, _ENDED = 0x40000000, 0x4000, 0x2000, 0x8000

# What statfs calls ext, xfs, btrfs, tmpfs, f2fs, zfs, bcachefs and overlayfs. Of others, network file systems for one,
# the system is not told of all changes.
_LOCAL = {
    0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0xF2F52010, 0x2FC12FC1, 0xCA451A4E, 0x794C7630,
}  # fmt: skip


class Inotify:
    """A queue of changes in directories. Not for several threads at once."""

    def __init__(self) -> None:
        """Raises OSError where the system has none, or has too many already."""
        if not sys.platform.startswith("linux"):
            raise OSError("only Linux has inotify")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._file = self._called(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        weakref.finalize(self, os.close, self._file)
        self._directories: dict[int, str] = {}

    def add(self, directory: str) -> None:
        """Report changes in a directory from now on. Raises OSError, also where not all of them would be reported."""
        place = os.fsencode(directory)
        status = (ctypes.c_long * 64)()
        self._called(self._libc.statfs(place, status))
        if status[0] & 0xFFFFFFFF not in _LOCAL:
            raise OSError(f"{directory} is on a file system that others may change without the system's knowledge")
        mask = _CHANGES | _ONLY_DIRECTORIES | _NO_LINKS
        self._directories[self._called(self._libc.inotify_add_watch(self._file, place, mask))] = directory

    def changed(self) -> Iterator[tuple[str | None, bool]]:
        """The directories that changed, and whether all below them may have; None if any may have."""
        while data := self._read():
            place = 0
            while place < len(data):
                number, mask, _, length = _EVENT.unpack_from(data, place)
                name = data[place + _EVENT.size : place + _EVENT.size + length].rstrip(b"\0")
                place += _EVENT.size + length
                yield from self._meant(number, mask, os.fsdecode(name))

    def _meant(self, number: int, mask: int, name: str) -> Iterator[tuple[str | None, bool]]:
        if mask & (_OVERFLOW | _UNMOUNTED):
            yield None, True
            return
        directory = self._directories.get(number)
        if mask & _ENDED:
            self._directories.pop(number, None)
        if directory is None:
            return
        yield directory, bool(mask & (_SELF_GONE | _SELF_MOVED | _ENDED))
        if name and mask & _OF_DIRECTORY:
            yield f"{directory.rstrip(os.sep)}{os.sep}{name}", True

    def _read(self) -> bytes:
        try:
            return os.read(self._file, _READ_BYTES)
        except BlockingIOError:
            return b""

    @staticmethod
    def _called(result: int) -> int:
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result
