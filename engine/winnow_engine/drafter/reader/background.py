"""A profile's reader as the drafter has it: loaded in the background, timed, and given up when its device fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

from winnow_cuda.device import DeviceError
from winnow_cuda.shapes import Float32, Int32
from winnow_engine.core import Cancellation
from winnow_engine.drafter.reader.layout import UnitText
from winnow_engine.drafter.reader.reading import Reader
from winnow_engine.drafter.reader.use import ReaderUse
from winnow_engine.runtime import Loading

AFFORDED_S = 0.12
"""What reading may add to the time of an answer's first token."""

_LEAST = 1 / 8  # of the tokens to be read; fewer are not worth it
_PATIENCE_S = 2.0  # for a reader that is loading: its weights are there; made for the first time, they take longer

T = TypeVar("T")


class BackgroundReader:
    """Scores units once it is loaded. Safe to use from several threads."""

    def __init__(
        self, use: ReaderUse, load: Callable[[], Reader], notify: Callable[[str], None], seconds: float = math.inf
    ) -> None:
        """`load` opens the reader when it is first wanted; `notify` is told if it is given up.

        It reads as many tokens as take `seconds` on this machine: those of `use`, half, a quarter and so on.
        """
        self.use, self._load, self._notify, self._seconds = use, load, notify, seconds
        self._lock = Lock()
        self._loading: Loading[tuple[Reader, int]] | None = None
        self._given_up = False

    def begin(self) -> Loading[tuple[Reader, int]]:
        """Begin to load it, seconds before it is needed, unless that has begun."""
        with self._lock:
            self._loading = self._loading or Loading(self._opened)
            return self._loading

    def tokens(self, cancellation: Cancellation) -> int:
        """How many tokens it reads for a question; 0 once its device has failed, or if that is slow. CancelledError.

        0 also if it is not loaded within two seconds: an answer does not wait longer for a second stage.
        """
        found = self._with_reader(lambda reader, tokens: tokens, cancellation)
        return 0 if found is None else found

    def scores(self, question: Int32, units: Sequence[UnitText], cancellation: Cancellation) -> Float32 | None:
        """As `Reader.scores` of all these units, float32 [U]; None where it cannot be used now. CancelledError."""
        return self._with_reader(
            lambda reader, _: reader.scores(reader.segments(question, units), cancellation), cancellation
        )

    def _with_reader(self, work: Callable[[Reader, int], T], cancellation: Cancellation) -> T | None:
        if self._given_up:
            return None
        try:
            opened = self.begin().wait_at_most(_PATIENCE_S, cancellation)
            return None if opened is None else work(*opened)
        except DeviceError as error:
            self._give_up(error)
            return None

    def _opened(self) -> tuple[Reader, int]:
        """The reader, and how many tokens it reads in the time that it may take."""
        reader, tokens = self._load(), self.use.tokens
        needed = reader.seconds(tokens) if math.isfinite(self._seconds) else 0.0
        while needed > self._seconds:
            tokens, needed = tokens // 2, needed / 2
        return reader, tokens if tokens >= _LEAST * self.use.tokens else 0

    def _give_up(self, error: DeviceError) -> None:
        """A CPU would read for a minute, so that no other device takes over."""
        with self._lock:
            told, self._given_up, self._loading = self._given_up, True, None
        if not told:
            self._notify(f"what leads is not read once more, because the GPU failed ({error})")
