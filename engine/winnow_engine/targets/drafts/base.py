"""What every draft offers, whatever it guesses from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.tree import NOTHING, DraftTree

MOST_NODES = 16
"""Of one tree. Each node costs a row of logits, and at worst a sequence of the target's memory."""


class Draft(Protocol):
    """Guesses how an answer goes on. Belongs to the target's owner thread; guesses cost speed, never correctness."""

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """An answer to `prompt` begins; once `abort` is set, `propose` returns soon."""

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """What may follow, in at most `limit` nodes worth `least` or more."""

    def accept(self, tokens: Sequence[int]) -> None:
        """The answer goes on behind these tokens, whatever was proposed; the first one is shown by now."""

    def close(self) -> None:
        """Free what the draft holds."""


class NoDraft:
    """Plain decoding: one token an evaluation."""

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Nothing to prepare."""

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """Nothing."""
        return NOTHING

    def accept(self, tokens: Sequence[int]) -> None:
        """Nothing to learn."""

    def close(self) -> None:
        """Nothing to free."""
