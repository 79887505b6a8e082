"""Encoding files on a device while others are still being read and parsed.

A device waits for text alone, so it begins with the first parsed file. A CPU would gain nothing: reading takes a
thousandth of the time there, and the same cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

from winnow_engine.core import Budget, Cancellation, ProgressSink
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.indexing import Taker
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.keys.workspace_keys import TOKENS_PER_BYTE
from winnow_engine.runtime import Loading


class StreamingEncoder:
    """Encodes files on a thread of its own from `begin` to the end of the `with` block, which waits for the last one.

    What encoding raises is raised there. An exception inside the block ends it early.
    """

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
