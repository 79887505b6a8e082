"""The contract of a draft."""

from __future__ import annotations

from collections.abc import Sequence

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.draft_tree import NOTHING, DraftTree

MOST_NODES = 16
"""The most nodes of one tree. Each costs a row of logits, and at worst a sequence of the target's memory."""


class Draft:
    """Guesses how an answer goes on, on the target's owner thread: `begin`, then `accept`, `propose` in turn.

    Methods that a draft does not have do nothing.
    """

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Begin an answer to `prompt`. Once `abort` is set, `propose` must return soon."""

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """What may follow the answer so far, in at most `limit` nodes that are each worth `least` or more."""
        return NOTHING

    def accept(self, tokens: Sequence[int]) -> None:
        """Append `tokens`, at least one, to the answer, whatever was proposed. The first one is already shown."""

    def close(self) -> None:
        """Free what the draft holds."""


class NoDraft(Draft):
    """Plain decoding: one token for each evaluation."""


class ChainDraft(Draft):
    """Cuts what another draft proposes to a chain of first children, for a target whose memory has no branches."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.begin, self.accept, self.close = draft.begin, draft.accept, draft.close  # type: ignore[method-assign]

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """The trunk of what the other draft proposes."""
        return self._draft.propose(limit, least).trunk()
