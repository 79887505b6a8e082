"""A profile's reader as the drafter has it: loaded in the background, and given up when its device fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from winnow_cuda.device import DeviceError
from winnow_cuda.shapes import Float32, Int32
from winnow_engine.core import Cancellation
from winnow_engine.drafter.reader.layout import UnitText
from winnow_engine.drafter.reader.reading import Reader
from winnow_engine.drafter.reader.use import ReaderUse
from winnow_engine.runtime import Loading

_PATIENCE_S = 2.0  # for a reader that is loading: its weights are there; made for the first time, they take 10 s


class BackgroundReader:
    """Scores units once it is loaded. Safe to use from several threads."""

    def __init__(self, use: ReaderUse, load: Callable[[], Reader], notify: Callable[[str], None]) -> None:
        """`load` opens the reader when it is first wanted; `notify` is told if it is given up."""
        self.use, self._load, self._notify = use, load, notify
        self._lock = Lock()
        self._loading: Loading[Reader] | None = None
        self._given_up = False

    def begin(self) -> Loading[Reader]:
        """Begin to load it, seconds before it is needed, unless that has begun."""
        with self._lock:
            self._loading = self._loading or Loading(self._load)
            return self._loading

    def scores(self, question: Int32, units: Sequence[UnitText], cancellation: Cancellation) -> Float32 | None:
        """As `Reader.scores` of all these units, float32 [U]; None once its device has failed. CancelledError.

        None also if it is not loaded within two seconds: an answer does not wait longer for a second stage.
        """
        if self._given_up:
            return None
        try:
            reader = self.begin().wait_at_most(_PATIENCE_S, cancellation)
            return None if reader is None else reader.scores(reader.segments(question, units), cancellation)
        except DeviceError as error:
            self._give_up(error)
            return None

    def _give_up(self, error: DeviceError) -> None:
        """A CPU would read for a minute, so that no other device takes over."""
        with self._lock:
            told, self._given_up, self._loading = self._given_up, True, None
        if not told:
            self._notify(f"what leads is not read once more, because the GPU failed ({error})")
