"""Stat data and contents of files that were read, so that no process reads an unchanged file again.

As in git's index, a file is unchanged if its stat data are: device, inode, size, and the times of content and inode,
the last of which no program can set. But clocks tick, and a file that is written twice within a tick looks the same. So
a file is read once more after the tick before its stat data are trusted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.errors import FileChangedError
from winnow_engine.index.file_text import file_text
from winnow_engine.index.postings import Strings
from winnow_engine.platform import read_regular
from winnow_engine.storage.packs import packed_keys, unpacked_keys
from winnow_engine.storage.store import content_key

_LONGEST_TICK_S = 3.0  # FAT counts in steps of two seconds
_SAVE_EVERY_S = 10.0
_SAVE_SHARE = 0.02  # of the files, new since the last time; they are saved at once
_64_BITS = (1 << 64) - 1
_TEXTS = ("roots", "paths", "reasons", "made_of")

Stamp = tuple[int, ...]
_SIZE = 2  # its place in a stamp
Key = tuple[str, str, bool]  # the root, a file's path below it, and whether the user's rules ask for the file


@dataclass(frozen=True, slots=True)
class Content:
    """A file's content by its key, or the rule that leaves it out; the text is in `held`, or is read at `place`.

    An open document has no `place`.
    """

    key: str = ""
    size: int = 0
    reason: str | None = None
    held: bytes | None = None
    place: str = ""
    local_path: str = ""
    stamp: Stamp = ()
    made_of: str = ""

    @classmethod
    def of(cls, local_path: str, text: bytes, made_of: str = "") -> Content:
        """This text."""
        return cls(content_key(local_path, text), len(text), held=text, local_path=local_path, made_of=made_of)

    def read(self) -> bytes:
        """The text. FileChangedError if the file has changed since, or cannot be read any more."""
        if self.held is not None:
            return self.held
        assert self.place, self
        try:
            size = self.stamp[_SIZE]
            data = read_regular(self.place, size + 1)
            unchanged = len(data) == size and _stamp(Path(self.place).lstat()) == self.stamp
        except OSError as error:
            raise FileChangedError(f"{self.place} cannot be read any more: {error.strerror}; ask again") from error
        text, _ = file_text(self.local_path, data)
        if unchanged or content_key(self.local_path, text) == self.key:
            return text
        raise FileChangedError(f"{self.place} has changed since the workspace was read; ask again")

    def changed(self) -> bool:
        """True if the file on disk is gone, or has changed since."""
        try:
            if self.place:
                replace(self, held=None).read()
        except FileChangedError:
            return True
        return False


@dataclass(frozen=True, slots=True)
class _Known:
    """A file's content and stamp, which it was first seen to have at a time of the clock."""

    stamp: Stamp
    seen_s: float
    content: Content
    settled: bool = False


class StatCache:
    """Contents of the files of the last reading. `clock` gives seconds and never goes back while the system runs."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[Key, _Known] = {}
        self._asked: dict[Key, _Known] = {}
        self._new, self._saved_at = 0, -_SAVE_EVERY_S

    @property
    def empty(self) -> bool:
        """True if nothing is known."""
        return not self._known

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A reading of all files: contents that it did not ask for are forgotten when it ends."""
        self._asked = {}
        yield
        self._known = self._asked

    def content(
        self, root: str, path: str, asked_for: bool, status: os.stat_result, read: Callable[[], Content]
    ) -> Content:
        """Content of a regular file; `read` is only called if it may have changed since `status` was the same."""
        key, stamp = (root, path, asked_for), _stamp(status)
        known = self._known.get(key)
        if known is None or known.stamp != stamp or not known.settled:
            known = self._read(f"{root}/{path}", stamp, known, read())
            self._new += 1
        self._asked[key] = known
        return known.content

    def _read(self, place: str, stamp: Stamp, known: _Known | None, content: Content) -> _Known:
        now, content = self._clock(), replace(content, place=place, stamp=stamp)
        if known is None or known.stamp != stamp or known.seen_s > now:
            return _Known(stamp, now, content)
        if now - known.seen_s > _LONGEST_TICK_S and _is_told(stamp, content):
            content = known.content if known.content.key == content.key else content
            content = replace(content, held=None)  # to be read from the disk when needed
            return _Known(stamp, known.seen_s, content, settled=True)
        return known if known.content.key == content.key != "" else replace(known, content=content)

    def worth_saving(self) -> bool:
        """True if so much is new that another process would miss it."""
        much = self._new > _SAVE_SHARE * len(self._known)
        return bool(self._new) and (much or self._clock() - self._saved_at > _SAVE_EVERY_S)

    def columns(self) -> dict[str, NDArray[Any]]:
        """All entries, as arrays. They count as saved."""
        self._new, self._saved_at = 0, self._clock()
        known, contents = self._known.values(), [one.content for one in self._known.values()]
        numbers = [(one.content.size, asked, one.settled) for (*_, asked), one in self._known.items()]
        columns: dict[str, NDArray[Any]] = {
            "stamps": np.array([one.stamp for one in known], np.uint64).reshape(-1, 5),
            "seen": np.array([one.seen_s for one in known], np.float64),
            "numbers": np.array(numbers, np.int64).reshape(-1, 3),
            "keys": packed_keys(one.key or "0" * 40 for one in contents),
        }
        roots, paths = [root for root, *_ in self._known], [path for _, path, _ in self._known]
        texts = roots, paths, [one.reason or "" for one in contents], [one.made_of for one in contents]
        for name, text in zip(_TEXTS, texts, strict=True):
            packed = Strings.of(text)
            columns |= {name: packed.text, f"{name}_ends": packed.ends}
        return columns

    def load(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """The inverse of `columns`. Unsettled files are read again, but stay as young as they were."""
        texts = (Strings(columns[name], columns[f"{name}_ends"]).all for name in _TEXTS)
        keys = unpacked_keys(columns["keys"])
        rows = zip(keys, *texts, *(columns[name].tolist() for name in ("stamps", "seen", "numbers")), strict=True)
        for key, root, path, reason, made_of, stamp, seen_s, (size, asked_for, settled) in rows:
            key = "" if reason else key
            content = Content(key, size, reason or None, None, f"{root}/{path}", path, tuple(stamp), made_of)
            self._known[root, path, bool(asked_for)] = _Known(tuple(stamp), seen_s, content, bool(settled))


def _stamp(status: os.stat_result) -> Stamp:
    return (
        status.st_dev & _64_BITS,
        status.st_ino & _64_BITS,
        status.st_size,
        status.st_mtime_ns & _64_BITS,
        status.st_ctime_ns & _64_BITS,
    )


def _is_told(stamp: Stamp, content: Content) -> bool:
    """True if the system tells about this file; it says nothing of some that are no files on a disk."""
    told = content.size == stamp[_SIZE] or (content.made_of and stamp[_SIZE])
    return stamp[1] != 0 and bool(content.reason is not None or told)
