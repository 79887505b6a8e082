"""Any draft, for a target whose memory has no branches."""

from __future__ import annotations

from collections.abc import Sequence

from winnow_engine.target.abort import AbortFlag
from winnow_engine.target.base import Prompt
from winnow_engine.target.drafts.base import Draft
from winnow_engine.target.tree import Tree


class TrunkDraft:
    """Of each tree that another draft proposes, the chain of first children."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Begin the other draft's answer."""
        self._draft.begin(prompt, abort)

    def propose(self, limit: int, least: float = 0.0) -> Tree:
        """The trunk of what the other draft proposes."""
        return self._draft.propose(limit, least).trunk()

    def accept(self, tokens: Sequence[int]) -> None:
        """Tell the other draft."""
        self._draft.accept(tokens)

    def close(self) -> None:
        """Free the other draft."""
        self._draft.close()
