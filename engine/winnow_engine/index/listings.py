"""What was found in directories before, for as long as the system reports no change in them.

Where nothing is reported, nothing is remembered, and a walk looks at everything: before the second reading of a
process, on other systems than Linux, on network file systems, beyond the system's limit of watches. The same after a
while, because a few changes go unreported: those through mapped memory, through another name that a file was given
since, and of mounts. Text that such a change made old is not shown all the same: before it is, its file is compared
with what was indexed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from winnow_engine.index.ignore import IgnoreRules
from winnow_engine.index.inotify import Inotify

_TRUSTED_S = 30.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listing:
    """A directory under the rules `above` it: the rules in it, the names of its entries, files and folders that count.

    A `lasting` one stays as it is until a change is reported.
    """

    above: IgnoreRules
    rules: IgnoreRules
    names: frozenset[str]
    candidates: tuple[Any, ...]
    folders: tuple[str, ...]
    lasting: bool = True


class Listings:
    """Listings by root and directory. Not for several threads at once."""

    _doubts: ClassVar[int] = 0

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._since = clock, 0.0
        self._readings, self._doubts_seen = 0, 0
        self._inotify: Inotify | None = None
        self._kept: dict[str, dict[str, Listing]] = {}
        self._roots: dict[str, tuple[int, int]] = {}

    def begin(self) -> None:
        """Forget what has changed since the last reading. One reading alone is not worth watching for."""
        self._readings += 1
        if self._readings == 2:
            self._open()
        now = self._clock()
        if self._doubts_seen != self._doubts or not 0 <= now - self._since <= _TRUSTED_S:
            self._since, self._doubts_seen = now, self._doubts
            self._kept.clear()
        for directory, below in self._inotify.changed() if self._inotify else ():
            self._forget(directory, below)

    @classmethod
    def doubt(cls) -> None:
        """Have the next readings look at everything: a file changed without a report, or just now. From any thread."""
        cls._doubts += 1

    def root(self, root: str) -> None:
        """Forget everything if another directory is in the place of this one: nobody reports that."""
        status = Path(root).stat()
        identity = status.st_dev, status.st_ino
        if self._roots.setdefault(root, identity) != identity:
            self._roots[root] = identity
            self._kept.clear()

    def get(self, root: str, directory: str) -> Listing | None:
        """What was found in a directory below a root, if that has not changed."""
        return self._kept.get(directory, {}).get(root)

    def watch(self, directory: str) -> bool:
        """Whether changes in a directory are reported from now on."""
        if self._inotify is None:
            return False
        try:
            self._inotify.add(directory)
        except OSError as error:
            _log.debug("%s is looked at for each question: %s", directory, error)
            return False
        return True

    def keep(self, root: str, directory: str, listing: Listing) -> None:
        """Remember what was found in a directory since it is watched."""
        if listing.lasting:
            self._kept.setdefault(directory, {})[root] = listing

    def _open(self) -> None:
        try:
            self._inotify = Inotify()
        except OSError as error:
            _log.info("files are looked at for each question: %s", error)

    def _forget(self, directory: str | None, below: bool) -> None:
        if directory is None:
            self._kept.clear()
            return
        self._kept.pop(directory, None)
        if below:
            inside = directory + os.sep
            self._kept = {place: kept for place, kept in self._kept.items() if not place.startswith(inside)}
