"""The drafter, which loads in the background, and the fleet that encodes in its place where much is new."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from winnow_engine.core import Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import EncodesFiles
from winnow_engine.fleet.fleet import Fleet
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.runtime import Loading
from winnow_engine.storage.store import Store

# Held while a drafter loads, so that settings that change quickly do not load several at once.
_drafter_loads = threading.Lock()

OpenFleet = Callable[[Drafter], Fleet]
"""Opens the fleet that encodes in place of a drafter."""


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

    def _encoder(self, drafter: Drafter) -> EncodesFiles:
        """The fleet, which is opened when there is something to encode, or else the drafter."""
        with self._opening_fleet:
            if self._fleet is None and self._open_fleet is not None:
                self._fleet = self._open_fleet(drafter)
            return self._fleet or drafter
