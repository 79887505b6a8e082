"""What was read of files before, so that an unchanged file is not read again for every question.

As in git's index, a file is unchanged if the system says of it what it said then: device, inode, size, and when content
and inode last changed. No program can set the last of these. But clocks tick: a file that is written twice within a
tick looks the same after both. So what is read for the first time is not trusted until it has been read once more, when
the tick is over.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

_LONGEST_TICK_S = 3.0  # FAT counts in steps of two seconds


@dataclass(frozen=True, slots=True)
class Content:
    """A file's bytes, or the rule on content that leaves it out."""

    data: bytes | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read of a file when it had this stamp, which it was first seen to have at a time of the clock."""

    stamp: tuple[int, ...]
    seen_s: float
    content: Content
    settled: bool = False


class FileMemory:
    """The contents of the files that the last reading asked for. `clock` gives seconds and never goes back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[tuple[str, bool], _Known] = {}
        self._asked: dict[tuple[str, bool], _Known] = {}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A reading of all files: what it has not asked for when it ends is forgotten."""
        self._asked = {}
        yield
        self._known = self._asked

    def content(self, path: str, asked_for: bool, status: os.stat_result, read: Callable[[], Content]) -> Content:
        """What `read` gives for the regular file at `path`, without calling it if that cannot have changed.

        `status` was taken before. Whether the user's rules have `asked_for` the file decides which contents count.
        """
        key, stamp, now = (path, asked_for), _stamp(status), self._clock()
        known = self._known.get(key)
        if known is None or known.stamp != stamp:
            known = _Known(stamp, now, read())
        elif not known.settled:
            content = read()
            settled = now - known.seen_s > _LONGEST_TICK_S and _is_told(status, content)
            known = replace(known, content=known.content if content == known.content else content, settled=settled)
        self._asked[key] = known
        return known.content


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _is_told(status: os.stat_result, content: Content) -> bool:
    """Whether the system tells about this file; of some that are no files on a disk it says nothing."""
    return status.st_ino != 0 and (content.data is None or len(content.data) == status.st_size)
