"""Drafts as long and as often as it pays, whatever the methods."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.tree import NOTHING, DraftTree
from winnow_engine.targets.drafts.base import Draft
from winnow_engine.targets.drafts.control.asked_draft import AskedDraft
from winnow_engine.targets.drafts.control.loss_budget import LossBudget


class AdaptiveDraft:
    """Cuts the proposals of one or two drafts to what pays, by a `LossBudget` that outlives the answer.

    The `free` one proposes in no time to speak of. The `asked` one, if any, takes time, and is asked where it has
    brought more than the free one promises. Once the budget is exhausted, that one is left alone for a while.
    """

    def __init__(self, free: Draft, asked: AskedDraft | None = None) -> None:
        self._free, self._asked = free, asked
        self._budget = LossBudget()
        self._started: float | None = None
        self._nodes, self._tried = 0, False
        self._waited, self._spent_s = False, 0.0

    def know(self, costs: Mapping[int, float]) -> None:
        """Begin with what rounds cost by the number of drafted tokens, at least one, in plain rounds."""
        self._budget.know(costs)

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Begin an answer with each draft that is not left alone."""
        self._started = None
        self._free.begin(prompt, abort)
        if self._asked is not None:
            self._asked.begin(prompt, abort)
        self._budget.begin(free=self._asked is None or self._asked.left_alone)

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """The part of a draft's proposal that pays."""
        self._started, self._nodes, self._tried = time.perf_counter(), 0, False
        self._waited, self._spent_s = False, 0.0
        if self._budget.rests:
            return NOTHING
        limit, least = min(limit, self._budget.affordable), max(least, self._budget.least_worth)
        tree = self._budget.cut(self._free.propose(limit, least))
        asked = self._asked
        if asked is not None and limit and asked.promises_more(self._budget.rate(tree)):
            tree = self._better(tree, asked, limit, least)
        self._nodes, self._tried = len(tree), bool(len(tree)) or self._waited
        return tree

    def _better(self, tree: DraftTree, asked: AskedDraft, limit: int, least: float) -> DraftTree:
        """`tree`, or what is worth more of the proposal of `asked`, which is waited for."""
        started = time.perf_counter()
        begins = asked.read()
        ready = time.perf_counter()
        found = asked.propose(limit, least)
        self._waited, self._spent_s = True, time.perf_counter() - ready
        assert self._started is not None
        self._started += ready - started  # what is read is of use for the whole answer
        if begins and not asked.chosen:
            asked.lost(self._budget.prepare(ready - started))
        found = self._budget.cut(found, self._spent_s)
        asked.kept(len(found))
        return max(found, tree, key=self._budget.rate)

    def accept(self, tokens: Sequence[int]) -> None:
        """Learn what the round since `propose` cost, and tell the drafts."""
        if self._started is not None:
            seconds, self._started = time.perf_counter() - self._started, None
            cost = self._budget.learn(self._nodes, len(tokens), seconds, tried=self._tried, spent_s=self._spent_s)
            if self._asked is not None:
                self._judge(self._asked, len(tokens), cost)
        self._free.accept(tokens)
        if self._asked is not None:
            self._asked.accept(tokens)

    def _judge(self, asked: AskedDraft, tokens: int, cost: float) -> None:
        if self._waited:
            asked.learn(tokens, cost)
        else:
            asked.rest()
        if self._budget.exhausted and not asked.left_alone:
            asked.leave_alone()
            self._budget.begin(free=True)

    def close(self) -> None:
        """Free the drafts."""
        self._free.close()
        if self._asked is not None:
            self._asked.close()
