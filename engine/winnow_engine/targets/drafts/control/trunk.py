"""Drafts without branches, for a target whose memory has none."""

from __future__ import annotations

from collections.abc import Sequence

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.tree import DraftTree
from winnow_engine.targets.drafts.base import Draft


class TrunkDraft:
    """Cuts each tree that another draft proposes to its chain of first children."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Begin the other draft's answer."""
        self._draft.begin(prompt, abort)

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """The trunk of what the other draft proposes."""
        return self._draft.propose(limit, least).trunk()

    def accept(self, tokens: Sequence[int]) -> None:
        """Tell the other draft."""
        self._draft.accept(tokens)

    def close(self) -> None:
        """Free the other draft."""
        self._draft.close()
