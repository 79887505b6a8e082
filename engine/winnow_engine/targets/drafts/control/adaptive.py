"""Drafts as long and as often as it pays, whatever the method."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.tree import NOTHING, DraftTree
from winnow_engine.targets.drafts.base import Draft
from winnow_engine.targets.drafts.control.loss_budget import LossBudget

_FIRST_SKIP, _LONGEST_SKIP = 4, 64  # answers


class AdaptiveDraft:
    """Cuts another draft's proposals to what pays, by a `LossBudget` that outlives the answer.

    `free` says that proposing takes no time to speak of: a round in which nothing is proposed is then a plain one. A
    draft that is not free has to read before it proposes. Once it has exhausted its budget, it is left alone for the
    rest of the answer and for some answers more, each time twice as many.
    """

    def __init__(self, draft: Draft, *, free: bool) -> None:
        self._draft, self._free = draft, free
        self._budget = LossBudget()
        self._started: float | None = None
        self._nodes, self._tried = 0, False
        self._given_up, self._skip, self._next_skip = False, 0, _FIRST_SKIP

    def know(self, costs: Mapping[int, float]) -> None:
        """Begin with what rounds cost by the number of drafted tokens, at least one, in plain rounds."""
        self._budget.know(costs)

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Begin the other draft's answer, unless that draft is left alone."""
        self._started = None
        self._given_up, self._skip = self._skip > 0, max(0, self._skip - 1)
        if not self._given_up:
            self._budget.begin(self._free)
            self._draft.begin(prompt, abort)

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """The part of the other draft's proposal that pays."""
        self._started = time.perf_counter()
        if self._given_up or self._budget.rests:
            tree, self._tried = NOTHING, False
        else:
            limit, least = min(limit, self._budget.affordable), max(least, self._budget.least_worth)
            tree = self._budget.cut(self._draft.propose(limit, least))
            self._tried = bool(len(tree)) or not self._free
        self._nodes = len(tree)
        return tree

    def accept(self, tokens: Sequence[int]) -> None:
        """Learn what the round since `propose` cost, and tell the other draft."""
        if self._started is not None:
            seconds, self._started = time.perf_counter() - self._started, None
            self._budget.learn(self._nodes, len(tokens), seconds, tried=self._tried)
            self._give_up_if_exhausted()
        if not self._given_up:
            self._draft.accept(tokens)

    def _give_up_if_exhausted(self) -> None:
        if not self._free and not self._given_up and self._budget.exhausted:
            self._given_up, self._skip, self._next_skip = True, self._next_skip, min(2 * self._next_skip, _LONGEST_SKIP)

    def close(self) -> None:
        """Free the other draft."""
        self._draft.close()
