"""A line on the wait for an answer: the index, then a countdown until the first token, then a thought."""

from __future__ import annotations

import time
from collections.abc import Callable

from winnow_engine.core import Kept, Progress, Thought, counted

_LONG_S = 100  # from here on in minutes
_TOKENS_FOR_A_PACE = 1000  # the first file to be done is a short one, and has waited for its batch


class Waiting:
    """The wait between the selection and the first word of one answer."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._end_s: float | None = None
        self._read: Progress | None = None
        self._thinking_since: float | None = None

    def kept(self, kept: Kept) -> None:
        """Take over the time expected for the first token."""
        self._expect(kept.seconds)

    def read(self, progress: Progress) -> None:
        """Note how far the target has read; once it has read something, it knows better how long the rest takes."""
        self._read = progress
        if progress.left_s is not None:
            self._expect(progress.left_s)

    def reported(self, progress: Progress) -> str:
        """Take note of any report of the engine's. Returns the line that it makes."""
        if progress.stage != "prefill":
            return indexing_line(progress)
        self.read(progress)
        return self.line()

    def think(self) -> None:
        """Note that the target thinks."""
        self._thinking_since = self._thinking_since or self._now()

    def line(self) -> str:
        """The current wait, such as `reading 512 of 2,900 tokens, about 14 s`."""
        if self._thinking_since is not None:
            return f"thinking, {self._now() - self._thinking_since:.0f} s"
        read, left = self._read, self._left()
        if read is None:
            return f"reading the prompt{left}" if left else "waiting for the target"
        if read.done == read.total:
            return f"reading {read.total:,} of {read.total:,} tokens"
        done = f"{read.done:,} of " if read.done else ""
        return f"reading {done}{read.total:,} tokens{left}"

    def _expect(self, seconds: float | None) -> None:
        self._end_s = None if seconds is None else self._now() + seconds

    def _left(self) -> str:
        if self._end_s is None:
            return ""
        return _about(self._end_s - self._now())


def indexing_line(progress: Progress) -> str:
    """Progress of the index, such as `indexing 120 of 300 files, 1,250 tokens/s, about 14 s`."""
    files = f"indexing {progress.done:,} of {counted(progress.total, 'file')}"
    if progress.tokens < _TOKENS_FOR_A_PACE or progress.elapsed_s <= 0:
        return files
    pace = progress.tokens / progress.elapsed_s
    return f"{files}, {pace:,.0f} tokens/s{_about(max(progress.total_tokens - progress.tokens, 0) / pace)}"


def thought_line(thought: Thought) -> str:
    """Time and length of a thought, such as `thought for 12 s (340 tokens)`."""
    return f"thought for {thought.seconds:.0f} s ({counted(thought.tokens, 'token')})"


def _about(seconds: float) -> str:
    whole = max(round(seconds), 1)
    return f", about {whole} s" if whole < _LONG_S else f", about {round(whole / 60)} min"
