"""An answer's text while it streams: whole characters only, thoughts apart, and nothing of a stop string.

A thought stands before the answer, between markers that depend on the model's family. Behind the first word of the
answer the same markers are text, so an answer may quote them.
"""

from __future__ import annotations

import codecs
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from winnow_engine.core import TextSink, Thought

# White space before a marker, at most; after more of it, the answer has begun. In characters.
_MOST_SPACE = 64
# A closing marker of which this many characters have come is not shown, though the answer ends there.
_FEWEST_SEEN = 2


@dataclass(frozen=True, slots=True)
class Markers:
    """What stands before and behind a thought; then `direct`. Any of `parts` may stand before an answer."""

    opening: str
    closing: str
    direct: str = ""
    parts: tuple[str, ...] = ()

    @property
    def ending(self) -> str:
        """What ends a thought from outside."""
        return f"{self.closing}{self.direct}" if self.direct else f"\n{self.closing}\n\n"


MARKERS = (
    Markers("<think>", "</think>"),  # Qwen3, DeepSeek-R1, GLM, MiniMax, Nemotron, SmolLM3
    Markers("<seed:think>", "</seed:think>"),  # Seed-OSS
    Markers("[THINK]", "[/THINK]"),  # Magistral
    Markers("<thought>", "</thought>"),  # EXAONE Deep
    Markers("<|channel>thought", "<channel|>"),  # Gemma 4
    Markers(  # gpt-oss
        *("<|channel|>analysis<|message|>", "<|end|>", "<|start|>assistant<|channel|>final<|message|>"),
        ("<|start|>assistant", "<|channel|>final", "<|channel|>commentary", "<|message|>"),
    ),
)


def markers_in(template: str) -> tuple[Markers, ...]:
    """The markers that a chat template mentions. Without any, nothing in the model's text is a thought."""
    return tuple(one for one in MARKERS if one.opening in template or (one.closing in template and not one.direct))


def opened_at_end(text: str, markers: Iterable[Markers]) -> Markers | None:
    """The markers whose opening `text` ends with, white space aside, so that what follows is thought."""
    return next((one for one in markers if text.rstrip().endswith(one.opening)), None)


def without_thought(text: str) -> str:
    """A whole answer without the thoughts before it."""
    stream = ThoughtStream(MARKERS)
    return stream.feed(text) + stream.end()


def cut_notice(limit: int) -> str:
    """What the user is told of a thought that was ended."""
    return f"the model was stopped after {limit:,} tokens of thinking"


class ThoughtStream:
    """Takes in text, passes thoughts on, and gives back the answer, however the text is cut into pieces.

    Thoughts come before the answer. One ended from outside may go on in it: closing markers are dropped then.
    """

    def __init__(
        self, markers: Sequence[Markers] = (), on_thought: TextSink = lambda _: None, inside: Markers | None = None
    ) -> None:
        """With `inside`, the text begins in a thought, whose opening stood in the prompt."""
        self.markers, self._inside = markers, inside
        self._starts: list[tuple[str, Markers | None]] = [(one.opening, one) for one in markers]
        self._starts += [(part, None) for one in markers for part in one.parts or (one.closing,)]
        self._on_thought = on_thought
        self._phase: Literal["start", "thought", "answer"] = "thought" if inside else "start" if markers else "answer"
        self._held, self._space, self._marked = "", "", False
        self._dropped = ""  # a closing marker that is no part of the answer
        self._thought: list[str] = []
        self._began_at = self._ended_at = 0.0

    @property
    def thinking(self) -> bool:
        """Whether the text is now in a thought."""
        return self._phase == "thought"

    @property
    def begun(self) -> bool:
        """Whether there was a thought, or is one."""
        return self._marked or self.thinking

    @property
    def answering(self) -> bool:
        """Whether the answer has begun. Before that, the text so far may be that of a marker."""
        return self._phase == "answer"

    def precedes_answer(self, text: str) -> bool:
        """Whether with `text`, which may come next, the answer would not have begun either."""
        if self._phase != "start":
            return self.thinking
        text = self._held + text
        begun = text.lstrip()
        near = len(text) - len(begun) <= _MOST_SPACE
        return near and any(one.startswith(begun) or begun.startswith(one) for one, _ in self._starts)

    def rest_of_marker(self) -> str:
        """The rest of a marker that has begun to come where the answer may begin; "" if none has."""
        begun = self._held.strip() if self._phase == "start" else ""
        return next((one[len(begun) :] for one, _ in self._starts if begun and one.startswith(begun)), "")

    def end_thought(self) -> str:
        """What must be fed to end the thought that the text is in."""
        assert self._inside is not None
        self._dropped = self._inside.ending.strip()
        return self._inside.ending

    def feed(self, text: str) -> str:
        """Take in more text. Returns what of it belongs to the answer."""
        self._held += text
        while self._opened() if self._phase == "start" else self.thinking and self._closed():
            pass
        return self._said() if self.answering else ""

    def add(self, thought: str) -> None:
        """Take in more of a thought that a server has told apart."""
        self._ended_at, self._marked = time.perf_counter(), True
        self._began_at = self._began_at or self._ended_at
        text = self._space + thought if self._thought else thought.lstrip()
        shown = text.rstrip()
        self._space = text[len(shown) :]
        if shown:
            self._thought.append(shown)
            self._on_thought(shown)

    def end(self) -> str:
        """What was held back of the answer: there is no more text."""
        held = self._release(len(self._held))
        if self.thinking:
            self.add(held)
            return ""
        if self.answering:
            return held if len(held) < _FEWEST_SEEN else ""
        return held.lstrip() if self._marked else held

    def thought(self, tokens: int) -> Thought | None:
        """What was thought, in `tokens` tokens; None if it was nothing."""
        text = "".join(self._thought)
        return Thought(text, self._ended_at - self._began_at, tokens) if text else None

    def _opened(self) -> bool:
        """Look for a marker where the answer may begin. Returns whether there was one."""
        text = self._held.lstrip()
        near = len(self._held) - len(text) <= _MOST_SPACE
        for marker, inside in self._starts if near else ():
            if text.startswith(marker):
                self._held, self._inside, self._marked = text[len(marker) :], inside, True
                self._phase = "thought" if inside else "start"
                return True
            if marker.startswith(text):
                return False
        self._phase, self._held = "answer", text if self._marked else self._held
        return False

    def _closed(self) -> bool:
        """Pass on what is surely thought. Returns whether the thought has ended."""
        assert self._inside is not None
        closing = self._inside.closing
        end = self._held.find(closing)
        self.add(self._release(end if end >= 0 else first_doubt(self._held, (closing,))))
        if end >= 0:
            self._release(len(closing))
            self._phase, self._inside = "start", None
        return end >= 0

    def _said(self) -> str:
        """What is surely part of the answer."""
        if not self._dropped:
            return self._release(len(self._held))
        while self._dropped in self._held:
            self._held = self._held.replace(self._dropped, "", 1)
        return self._release(first_doubt(self._held, (self._dropped,)))

    def _release(self, length: int) -> str:
        released, self._held = self._held[:length], self._held[length:]
        return released


def first_doubt(text: str, ends: Sequence[str]) -> int:
    """Where `text` ends with the beginning of one of `ends`, at the earliest; its length if it does not."""
    longest = max((len(end) for end in ends), default=1)
    starts = range(max(0, len(text) - longest + 1), len(text))
    return next((at for at in starts if any(end.startswith(text[at:]) for end in ends)), len(text))


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
