"""The drafter, and the fleet that encodes in its place where much is new.

A device begins with the first parsed file, while others are still being read. A CPU would gain nothing: reading takes
a thousandth of the time there, and the same cores.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue

from winnow_engine.core import Budget, Cancellation, ProgressSink
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.fleet.fleet import Fleet
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.indexing import Taker
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.keys.workspace_keys import TOKENS_PER_BYTE
from winnow_engine.runtime import Loading
from winnow_engine.storage.store import Store


class StreamingEncoder:
    """Encodes files from `begin` to the end of the `with` block, which waits, and raises what encoding raised."""

    def __init__(self, keys: Loading[KeyCache], progress: ProgressSink, cancellation: Cancellation) -> None:
        self._keys, self._progress, self._cancellation = keys, progress, cancellation
        self._files: SimpleQueue[IndexedFile | None] = SimpleQueue()
        self._thread = ThreadPoolExecutor(1)
        self._encoding: Future[None] | None = None
        self._given_up = False

    def begin(self, count: int, size: int) -> Taker:
        """Expect `count` files with `size` bytes in all; each is to be given to what this returns."""
        self._encoding = self._thread.submit(self._encode, count, size)
        return self._files.put

    def begin_for_question(self, budget: Budget, count: int, size: int) -> Taker | None:
        """As `begin`, if the drafter is there and a question would have all of these files encoded; else None."""
        cache = self._keys.loaded
        return self.begin(count, size) if cache and cache.takes_all(budget, round(size * TOKENS_PER_BYTE)) else None

    def __enter__(self) -> StreamingEncoder:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._given_up = kind is not None
        self._files.put(None)
        self._thread.shutdown(wait=True)
        if self._encoding is not None and kind is None:
            self._encoding.result()

    def _encode(self, count: int, size: int) -> None:
        cache = self._keys.wait_for(self._cancellation)
        if cache.drafter.place == "resident":
            cache.encode(self._taken(), count, size, self._progress, self._cancellation)

    def _taken(self) -> Iterator[IndexedFile]:
        while (file := self._files.get()) is not None and not self._given_up:
            yield file


# Held while a drafter loads, so that settings that change quickly do not load several at once.
_drafter_loads = threading.Lock()
_NOTICED_S = 1.0  # of encoding

OpenFleet = Callable[[Drafter], Fleet]  # opens the fleet that encodes in place of a drafter


class Encoders:
    """The drafter's keys of files, cached in a store. `keys` loads the drafter from the start."""

    def __init__(self, store: Store, open_drafter: Callable[[], Drafter], open_fleet: OpenFleet | None) -> None:
        self._store, self._open_drafter, self._open_fleet = store, open_drafter, open_fleet
        self._fleet: Fleet | None = None
        self._opening_fleet = threading.Lock()
        self._closing = Cancellation()
        self.keys = Loading(self._open)

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the user about the fleet."""
        return tuple(self._fleet.notices) if self._fleet else ()

    def lack(self, workspace: Workspace) -> bool:
        """True if a question waits noticeably for the drafter, or for keys of a workspace's files."""
        cache = self.keys.loaded
        return cache is None or cache.missing_tokens(workspace) > _NOTICED_S * cache.tokens_per_s

    def retry(self) -> None:
        """Load the drafter again if it could not be loaded."""
        if self.keys.error:
            self.keys = Loading(self._open)

    def close(self) -> None:
        """Free the fleet, once a drafter that is loading is there."""
        self._closing.cancel()
        self.keys.settle()
        if self._fleet is not None:
            self._fleet.close()

    def _open(self) -> KeyCache:
        with _drafter_loads:
            self._closing.check()
            drafter = self._open_drafter()
            return KeyCache(self._store, drafter, partial(self._encoder, drafter))

    def _encoder(self, drafter: Drafter) -> Drafter | Fleet:
        """The fleet, which is opened when there is something to encode, or else the drafter."""
        with self._opening_fleet:
            if self._fleet is None and self._open_fleet is not None:
                self._fleet = self._open_fleet(drafter)
            return self._fleet or drafter
