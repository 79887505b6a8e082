"""Turns the bytes of tokens into text to show: whole characters only, no thought, and nothing of a stop string."""

from __future__ import annotations

import codecs

from winnow_engine.targets.thinking import ThoughtStream, first_doubt


class TextStream:
    """Decodes UTF-8 piece by piece, leaves `thoughts` to their stream, and ends the text before the first stop string.

    The bytes of an incomplete character wait for the rest. At the end of the answer they are dropped.
    """

    def __init__(self, stops: tuple[str, ...] = (), thoughts: ThoughtStream | None = None) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stops, self._thoughts = stops, thoughts or ThoughtStream()
        self._held = ""
        self.stopped = False

    def feed(self, piece: bytes) -> str:
        """The text that is safe to show after `piece`. Must not be called again once `stopped`."""
        return self._shown(self._thoughts.feed(self._decoder.decode(piece)))

    def flush(self) -> str:
        """The text held back because it might have become a stop string or a thought; "" if a stop string did come."""
        if self.stopped:
            return ""
        shown = self._shown(self._thoughts.end())
        return shown if self.stopped else shown + self._release(len(self._held))

    def _shown(self, text: str) -> str:
        self._held += text
        cuts = [at for stop in self._stops if (at := self._held.find(stop)) >= 0]
        self.stopped = bool(cuts)
        return self._release(min(cuts) if cuts else first_doubt(self._held, self._stops))

    def _release(self, length: int) -> str:
        released, self._held = self._held[:length], self._held[length:]
        return released
