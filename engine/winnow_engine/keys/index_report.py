"""Progress of an index while files are encoded."""

from __future__ import annotations

import time

from winnow_engine.core import Progress, ProgressSink
from winnow_engine.encoder.file_encoder import FileKeys


class IndexReport:
    """Reports progress by file. The tokens still to come are estimated from the bytes of all files together."""

    def __init__(self, count: int, size: int, progress: ProgressSink) -> None:
        self._count, self._size, self._progress = count, size, progress
        self._done = self._done_bytes = self._tokens = 0
        self._started = time.perf_counter()

    def add(self, keys: FileKeys, size: int) -> None:
        """A file of this size is done."""
        self._done_bytes += size
        self._done += 1
        self._tokens += int(keys.unit_tokens.sum())
        total = round(self._tokens * self._size / self._done_bytes)
        elapsed = time.perf_counter() - self._started
        self._progress(Progress("index", self._done, self._count, self._tokens, total, elapsed))
