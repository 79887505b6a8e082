"""An answer as clients show it, whichever process computed it: the wait for it, its places, its stats by name.

Imports nothing of the models, so that a command that asks a running server starts at once.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from winnow_engine.core import Citation, Kept, Progress, Sentence, Span, Thought, counted
from winnow_engine.errors import TargetError

if TYPE_CHECKING:
    from winnow_engine.selection.ranking import SelectionStats
    from winnow_engine.targets.answer import Stats

_OF_SELECTION = ("workspace_tokens", "indexed_tokens", "kept_tokens", "budget_tokens", "answer_probability")
_OF_GENERATION = (
    "prompt_tokens", "reused_tokens", "restored_tokens", "decode_tokens", "drafted_tokens", "accepted_tokens", "draft",
)  # fmt: skip
_LONG_S = 100  # from here on in minutes
_TOKENS_FOR_A_PACE = 1000  # the first file to be done is a short one, and has waited for its batch
ON_THE_WIRE: Mapping[str, str] = {
    "workspace_tokens": "workspaceTokens", "indexed_tokens": "indexedTokens", "kept_tokens": "keptTokens",
    "budget_tokens": "budgetTokens", "answer_probability": "answerProbability", "stages": "stages", "ttft_s": "ttft",
    "prompt_tokens": "promptTokens", "reused_tokens": "reusedTokens", "restored_tokens": "restoredTokens",
    "decode_tokens": "decodeTokens", "decode_tokens_per_s": "decodeTokensPerSecond",
    "drafted_tokens": "draftedTokens", "accepted_tokens": "acceptedTokens", "draft": "draft", "places": "places",
    "prefill_tokens_per_s": "prefillTokensPerSecond", "target_host": "targetHost",
}  # fmt: skip
_MEANS_SOMETHING = re.compile(r"[\\`\[\]<>]")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `stats` are those of `host/reply.py`; `finish` says why it ended, `thinking` is the thought before."""

    answer: str
    citations: tuple[Citation, ...]
    spans: tuple[Span, ...]
    stats: Mapping[str, Any]
    finish: str
    notices: tuple[str, ...]
    thinking: Thought | None = None
    sentences: tuple[Sentence, ...] = ()


def check_answered(text: str, finish: str, advice: str = "ask again") -> None:
    """Raise TargetError, with what to do about it, if there is no text in an answer."""
    if not text.strip():
        advice = "raise the setting maxTokens" if finish == "length" else advice
        raise TargetError(f"the target gave no answer: {advice}")


def place(item: Citation | Span) -> str:
    """`path:start-end`, which terminals and editors open; before it the commit that has the lines, if they are gone."""
    commit = f"{item.commit[:10]}:" if isinstance(item, Citation) and item.commit else ""
    last = "" if item.start_line == item.end_line else f"-{item.end_line}"
    return f"{commit}{item.path}:{item.start_line}{last}"


def flat_stats(stats: Stats | SelectionStats) -> dict[str, Any]:
    """The stats of an answer, or of a selection alone, by name. Seconds are rounded to the millisecond."""
    from winnow_engine.targets.answer import Stats
    from winnow_engine.targets.base import Generation

    answered = stats if isinstance(stats, Stats) else None
    selection = stats.selection if isinstance(stats, Stats) else stats
    generation = answered.generation if answered else Generation("", "cancelled", 0, 0, 0.0, None, 0, 0.0)
    throughput = answered.prefill_tokens_per_s if answered else None
    computed = {
        "stages": {name: round(seconds, 3) for name, seconds in stats.stages.items()},
        "ttft_s": round(answered.ttft_s, 3) if answered else None,
        "decode_tokens_per_s": round(generation.decode_tokens_per_s, 2),
        "places": dict(answered.places) if answered else {},
        "target_host": answered.target_host if answered else None,
        "prefill_tokens_per_s": None if throughput is None else round(throughput, 1),
    }
    own = {name: getattr(selection, name) for name in _OF_SELECTION}
    return own | {name: getattr(generation, name) for name in _OF_GENERATION} | computed


def for_wire(stats: Mapping[str, Any]) -> dict[str, Any]:
    """The stats in camelCase, without those that say nothing."""
    return {name: stats[key] for key, name in ON_THE_WIRE.items() if stats[key] is not None}


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
        return "" if self._end_s is None else _about(self._end_s - self._now())


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


def plain(text: str) -> str:
    """The text with escapes for what would begin or end a link or tag."""
    return _MEANS_SOMETHING.sub(r"\\\g<0>", text)
