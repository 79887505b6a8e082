"""Turns the bytes of tokens into text to show: whole characters only, no thought, and nothing of a stop string."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from winnow_engine.targets.thinking import ThoughtStream, first_doubt


class StopStream:
    """Takes in text and gives back what is surely before any stop string."""

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops, self._held = stops, ""
        self.stopped = False

    def feed(self, text: str) -> str:
        """The text that is safe to show; "" once `stopped`."""
        if self.stopped:
            return ""
        self._held += text
        cuts = [at for stop in self._stops if (at := self._held.find(stop)) >= 0]
        self.stopped = bool(cuts)
        return self._release(min(cuts) if cuts else first_doubt(self._held, self._stops))

    def flush(self) -> str:
        """The text held back because it might have become a stop string; "" if one did come."""
        return "" if self.stopped else self._release(len(self._held))

    def _release(self, length: int) -> str:
        released, self._held = self._held[:length], self._held[length:]
        return released


class TextStream:
    """Decodes UTF-8 piece by piece, leaves `thoughts` to their stream, and ends before a stop string."""

    def __init__(self, stops: tuple[str, ...] = (), thoughts: ThoughtStream | None = None) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stops, self._thoughts = StopStream(stops), thoughts or ThoughtStream()

    @property
    def stopped(self) -> bool:
        """Whether a stop string has come."""
        return self._stops.stopped

    def feed(self, piece: bytes) -> str:
        """The text that is safe to show after `piece`."""
        return self._stops.feed(self._thoughts.feed(self._decoder.decode(piece)))

    def flush(self) -> str:
        """The text held back because it might have become a stop string or a thought; "" if a stop string did come."""
        return self._stops.feed(self._thoughts.end()) + self._stops.flush()
