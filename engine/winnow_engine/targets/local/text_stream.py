"""Turns the bytes of tokens into text to show: whole characters only, and nothing of a stop string."""

from __future__ import annotations

import codecs


class TextStream:
    """Decodes UTF-8 piece by piece, and ends the text before the first stop string.

    The bytes of an incomplete character wait for the rest. At the end of the answer they are dropped.
    """

    def __init__(self, stops: tuple[str, ...] = ()) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stops = stops
        self._held = ""
        self.stopped = False

    def feed(self, piece: bytes) -> str:
        """The text that is safe to show after `piece`. Must not be called again once `stopped`."""
        self._held += self._decoder.decode(piece)
        cuts = [at for stop in self._stops if (at := self._held.find(stop)) >= 0]
        self.stopped = bool(cuts)
        return self._release(min(cuts) if cuts else self._first_doubt())

    def flush(self) -> str:
        """The text held back because it might have become a stop string; "" if one did come."""
        return "" if self.stopped else self._release(len(self._held))

    def _first_doubt(self) -> int:
        """Where the held text ends with the beginning of a stop string, at the earliest."""
        longest = max((len(stop) for stop in self._stops), default=1)
        starts = range(max(0, len(self._held) - longest + 1), len(self._held))
        return next((at for at in starts if self._may_stop(self._held[at:])), len(self._held))

    def _may_stop(self, tail: str) -> bool:
        return any(stop.startswith(tail) for stop in self._stops)

    def _release(self, length: int) -> str:
        released, self._held = self._held[:length], self._held[length:]
        return released
