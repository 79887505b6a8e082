"""A profile's reranker: opened on a GPU, loaded in the background, timed, and given up when it or its GPU fails."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TypeVar

import numpy as np

from winnow_cuda.device import DeviceError
from winnow_cuda.shapes import Float32, Int32
from winnow_engine.core import Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.profiles import RerankerUse
from winnow_engine.encoder.weights import EMBEDDING
from winnow_engine.errors import ModelDamagedError, ModelError, ProfileError
from winnow_engine.models import cache
from winnow_engine.models.gguf_header import read_header
from winnow_engine.reranker.file import read_reranker
from winnow_engine.reranker.layout import UnitText
from winnow_engine.reranker.reranker import Reranker, load_reranker
from winnow_engine.runtime import Loading

AFFORDED_S = 0.12
"""The time that it may add to an answer's first token."""

_SHARES = (1, 2, 4, 8)  # divisors of the tokens to read; fewer are not worth it
_LOADING_S = 2.0  # for a reranker that is loading: its weights are there; made for the first time, they take longer

NOT_RERANKED = "the reranker is not used"
"""The beginning of a notice that says why."""

_REMEDY = "`winnow models verify` says whether the model is whole whose layers it has"

T = TypeVar("T")


class BackgroundReranker:
    """Scores units once it is loaded. Safe to use from several threads."""

    def __init__(
        self, use: RerankerUse, load: Callable[[], Reranker], notify: Callable[[str], None], seconds: float = math.inf
    ) -> None:
        """`load` opens the reranker when it is first wanted; `notify` is told if it is given up.

        It reads the tokens of `use`, half, a quarter or an eighth: as many as take `seconds` here, or none.
        """
        self.use, self._load, self._notify, self._seconds = use, load, notify, seconds
        self._lock = Lock()
        self._loading: Loading[Reranker | None] | None = None
        self._rate, self._given_up = math.inf, False  # tokens a second, the highest that was seen

    def begin(self) -> Loading[Reranker | None]:
        """Begin to load it unless that has begun; nothing once it was given up."""
        with self._lock:
            self._loading = self._loading or Loading(self._opened)
            return self._loading

    def tokens(self, cancellation: Cancellation) -> int:
        """Tokens it reads for a question; 0 if given up, slow, or not loaded in 2 s. CancelledError."""
        return self._with_reranker(lambda reranker: self._affordable(), cancellation) or 0

    def scores(self, question: Int32, units: Sequence[UnitText], cancellation: Cancellation) -> Float32 | None:
        """As `Reranker.scores`, float32 [U]; None if it cannot be used now. CancelledError."""

        def timed(reranker: Reranker) -> Float32:
            segments, started = reranker.segments(question, units), time.perf_counter()
            found = reranker.scores(segments, cancellation)
            if not np.isfinite(found).all():
                raise ModelDamagedError(f"its scores are not finite; {_REMEDY}")
            # The first reading may have been slow because an index was being made.
            self._rate = max(self._rate, sum(map(len, segments)) / max(time.perf_counter() - started, 1e-6))
            return found

        return self._with_reranker(timed, cancellation)

    def _with_reranker(self, work: Callable[[Reranker], T], cancellation: Cancellation) -> T | None:
        try:
            reranker = self.begin().wait_at_most(_LOADING_S, cancellation)
            return None if reranker is None else work(reranker)
        except (DeviceError, ModelError, ProfileError) as error:
            self._give_up(error)
            return None

    def _opened(self) -> Reranker | None:
        """The reranker, timed; None, which frees the device's memory, if it is too slow for its least share."""
        reranker = self._load()
        if math.isfinite(self._seconds):
            self._rate = self.use.tokens / reranker.seconds(self.use.tokens)
        return reranker if self._affordable() else None

    def _affordable(self) -> int:
        """The tokens that it reads in the time that it may take, or 0."""
        needed = self.use.tokens / self._rate
        return next((self.use.tokens // by for by in _SHARES if needed <= self._seconds * by), 0)

    def _give_up(self, error: Exception) -> None:
        """Do without it from now on; a CPU would read for a minute."""
        with self._lock:
            if self._given_up:
                return
            self._given_up, self._loading = True, Loading(lambda: None)
        why = f", because the GPU failed ({error})" if isinstance(error, DeviceError) else f": {error}"
        self._notify(f"{NOT_RERANKED}{why}")


OpenReranker = Callable[[Drafter], BackgroundReranker | None]
"""Opens the reranker that goes with a drafter, or None if there is none."""


def open_reranker(drafter: Drafter, seconds: float = math.inf) -> BackgroundReranker | None:
    """The reranker of a GPU drafter's profile, not loaded yet; None, with a notice if it is missing or damaged."""
    use = drafter.reranker
    if use is None or drafter.place != "resident":
        return None
    try:
        load = _loader(drafter, use)
    except (ModelError, ProfileError) as error:
        drafter.add_notice(f"{NOT_RERANKED}: {error}")
        return None
    return BackgroundReranker(use, load, drafter.add_notice, seconds)


def _loader(drafter: Drafter, use: RerankerUse) -> Callable[[], Reranker]:
    """Loads the reranker once it is called; its file and its model are checked now. ModelError or ProfileError."""
    model = drafter.path if use.model is None else cache.path(use.model)
    header = read_header(model)
    embedding = header.tensors.get(EMBEDDING)
    if embedding is None or embedding.shape[:1] != read_header(drafter.path).tensors[EMBEDDING].shape[:1]:
        raise ProfileError(f"{model}, whose layers the reranker has, has another vocabulary than the drafter")
    file = read_reranker(use.file, header)
    return partial(load_reranker, model, file, drafter.template.prefix)
