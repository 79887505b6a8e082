"""A profile's reader as the drafter has it: loaded in the background, timed, and given up when it or a GPU fails."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

import numpy as np

from winnow_cuda.device import DeviceError
from winnow_cuda.shapes import Float32, Int32
from winnow_engine.core import Cancellation
from winnow_engine.encoder.reader.layout import UnitText
from winnow_engine.encoder.reader.reading import Reader
from winnow_engine.encoder.reader.use import ReaderUse
from winnow_engine.errors import ModelDamagedError, ModelError, ProfileError
from winnow_engine.runtime import Loading

AFFORDED_S = 0.12
"""What reading may add to the time of an answer's first token."""

_SHARES = (1, 2, 4, 8)  # what the tokens to be read are divided by; fewer are not worth it
_PATIENCE_S = 2.0  # for a reader that is loading: its weights are there; made for the first time, they take longer

NOT_REREAD = "what leads is not read once more"
"""How a notice begins that says why a reader is not used."""

_REMEDY = "`winnow models verify` says whether the model is whole whose layers it has"

T = TypeVar("T")


class BackgroundReader:
    """Scores units once it is loaded. Safe to use from several threads."""

    def __init__(
        self, use: ReaderUse, load: Callable[[], Reader], notify: Callable[[str], None], seconds: float = math.inf
    ) -> None:
        """`load` opens the reader when it is first wanted; `notify` is told if it is given up.

        It reads as many tokens as take `seconds` on this machine: those of `use`, half, a quarter or an eighth. A GPU
        that is slower still does without it.
        """
        self.use, self._load, self._notify, self._seconds = use, load, notify, seconds
        self._lock = Lock()
        self._loading: Loading[Reader | None] | None = None
        self._rate, self._given_up = math.inf, False  # tokens a second, the highest that was seen

    def begin(self) -> Loading[Reader | None]:
        """Begin to load it, seconds before it is needed, unless that has begun; nothing once it was given up."""
        with self._lock:
            self._loading = self._loading or Loading(self._opened)
            return self._loading

    def tokens(self, cancellation: Cancellation) -> int:
        """How many tokens it reads for a question; 0 once it was given up, or if that is slow. CancelledError.

        0 also if it is not loaded within two seconds: an answer does not wait longer for a second stage.
        """
        return self._with_reader(lambda reader: self._affordable(), cancellation) or 0

    def scores(self, question: Int32, units: Sequence[UnitText], cancellation: Cancellation) -> Float32 | None:
        """As `Reader.scores` of all these units, float32 [U]; None where it cannot be used now. CancelledError."""

        def timed(reader: Reader) -> Float32:
            segments, started = reader.segments(question, units), time.perf_counter()
            found = reader.scores(segments, cancellation)
            if not np.isfinite(found).all():
                raise ModelDamagedError(f"its scores are not finite; {_REMEDY}")
            # What was seen first may have been slow because an index was being made.
            self._rate = max(self._rate, sum(map(len, segments)) / max(time.perf_counter() - started, 1e-6))
            return found

        return self._with_reader(timed, cancellation)

    def _with_reader(self, work: Callable[[Reader], T], cancellation: Cancellation) -> T | None:
        try:
            reader = self.begin().wait_at_most(_PATIENCE_S, cancellation)
            return None if reader is None else work(reader)
        except (DeviceError, ModelError, ProfileError) as error:
            self._give_up(error)
            return None

    def _opened(self) -> Reader | None:
        """The reader, timed; None, which frees the device's memory, if it is too slow for its least share."""
        reader = self._load()
        if math.isfinite(self._seconds):
            self._rate = self.use.tokens / reader.seconds(self.use.tokens)
        return reader if self._affordable() else None

    def _affordable(self) -> int:
        """How many tokens it reads in the time that it may take, or 0."""
        needed = self.use.tokens / self._rate
        return next((self.use.tokens // by for by in _SHARES if needed <= self._seconds * by), 0)

    def _give_up(self, error: Exception) -> None:
        """Do without it from now on. A CPU would read for a minute, so that no other device takes over."""
        with self._lock:
            if self._given_up:
                return
            self._given_up, self._loading = True, Loading(lambda: None)
        why = f", because the GPU failed ({error})" if isinstance(error, DeviceError) else f": {error}"
        self._notify(f"{NOT_REREAD}{why}")
