"""A draft whose proposals take time, and whether to ask for one.

The time is spent before it is known what it brought. So what decides is what earlier proposals took and brought, beside
what can be had without asking.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.tree import DraftTree
from winnow_engine.targets.drafts.base import Draft

_FIRST_SKIP, _LONGEST_SKIP = 4, 64  # answers
# What a round with a proposal is assumed to bring and to cost, in tokens and plain rounds, and how many rounds that
# counts as. It must be tried somewhere.
_TOKENS, _COST, _ASSUMED = 2.0, 1.3, 4
_MEMORY = 16  # rounds
_MOST_GAINED = 16.0  # plain rounds that count, or that it lost; an answer may lose four
_RETURN = 0.01  # of the way back to what is assumed, for each round without a proposal
_LEAST_GAIN = 1.02  # times what can be had without asking
_NODES = 3.0  # of a proposal, kept at first
_MORE = 1.5  # times the nodes that are kept are asked for, and one


class AskedDraft:
    """Another draft, its answers begun only when it is asked for the first time.

    `chosen` says that the user named this draft: what it has to read before its first guess is then no loss.
    """

    def __init__(self, draft: Draft, *, chosen: bool) -> None:
        self._draft, self.chosen = draft, chosen
        self._tokens, self._cost, self._rounds = _TOKENS, _COST, _ASSUMED
        self._nodes, self._gained = _NODES, 0.0
        self._prompt, self._said, self._begun = np.empty(0, np.int32), list[int](), False
        self._abort = AbortFlag()
        self.left_alone, self._skip, self._next_skip = False, 0, _FIRST_SKIP

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Begin an answer, or leave the draft alone during it."""
        self.left_alone, self._skip = self._skip > 0, max(0, self._skip - 1)
        self._prompt, self._said, self._begun, self._abort = prompt, [], False, abort

    def promises_more(self, rate: float) -> bool:
        """Whether asking has brought more tokens for each plain round than `rate`, or than plain decoding."""
        return not self.left_alone and self._tokens / self._cost > _LEAST_GAIN * max(1.0, rate)

    def read(self) -> bool:
        """Have the draft begin the answer. False if it has begun before."""
        if self._begun:
            return False
        *before, last = self._said
        self._draft.begin(np.concatenate([self._prompt, np.array(before, np.int32)]), self._abort)
        self._draft.accept([last])
        self._begun = True
        return True

    def propose(self, limit: int, least: float) -> DraftTree:
        """What the draft proposes. `read` must have been called."""
        return self._draft.propose(min(limit, 1 + math.ceil(_MORE * self._nodes)), least)

    def lost(self, cost: float) -> None:
        """Count plain rounds that `read` took."""
        self._gained = max(self._gained - cost, -_MOST_GAINED)

    def kept(self, nodes: int) -> None:
        """Learn how many nodes of a proposal promised to pay: longer ones take longer."""
        self._nodes += (nodes - self._nodes) / 4

    def learn(self, tokens: int, cost: float) -> None:
        """Learn that a round with a proposal brought so many tokens and cost so many plain rounds."""
        self._gained = min(self._gained + tokens - cost, _MOST_GAINED)
        self._rounds = min(self._rounds + 1, _MEMORY)
        self._tokens += (tokens - self._tokens) / self._rounds
        self._cost += (cost - self._cost) / self._rounds

    def rest(self) -> None:
        """Forget a little of what was bad, in a round without a proposal."""
        if self._tokens / self._cost < _TOKENS / _COST:
            self._tokens += _RETURN * (_TOKENS - self._tokens)
            self._cost += _RETURN * (_COST - self._cost)

    def leave_alone(self) -> None:
        """Leave the draft alone for the rest of this answer.

        For some answers more, each time twice as many, unless it has gained more in others.
        """
        self.left_alone = True
        if self._gained <= 0:
            self._skip, self._next_skip = self._next_skip, min(2 * self._next_skip, _LONGEST_SKIP)

    def accept(self, tokens: Sequence[int]) -> None:
        """Append `tokens` to the answer."""
        if self._begun:
            self._draft.accept(tokens)
        else:
            self._said += tokens

    def close(self) -> None:
        """Free the draft."""
        self._draft.close()
