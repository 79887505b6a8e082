"""Drafts only while they pay. All answers together take at most 2% longer than plain decoding.

Costs and the credit, which drafts earn and spend, are counted in plain rounds, which draft nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from winnow_engine.config import TargetOptions
from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import evaluates_on_gpu
from winnow_engine.llama.draft_tree import NOTHING, DraftTree
from winnow_engine.llama.patched_functions import has_patches
from winnow_engine.targets.drafts.base import MOST_NODES, Draft
from winnow_engine.targets.throughput import running_mean

# Plain rounds for 2, 4, 8 and 16 tokens, of Qwen2.5-Coder-1.5B in Q4_K_M: on two cores the mean of AVX2 and AVX-512, on
# an H100 with what the host does in a round (docs/results/decoding.md). Keys: on a GPU, built by winnow_llama.
_COSTS = {
    (False, True): (1.3, 1.7, 2.4, 4.0),
    (False, False): (1.7, 2.5, 4.1, 5.0),
    (True, True): (1.3, 1.3, 1.3, 1.7),
    (True, False): (2.0, 2.0, 2.0, 2.5),
}

# Share of the newest pass in what is learned. Other work makes passes slower, none makes them faster.
_CHEAPER, _DEARER = 0.5, 0.2


def usual_costs(options: TargetOptions) -> list[float]:
    """The cost of a pass, in plain ones, by the number of drafted tokens, from none to `MOST_NODES`."""
    costs = _COSTS[evaluates_on_gpu(options), has_patches()]
    return np.interp(range(MOST_NODES + 1), [0, 1, 3, 7, 15], [1.0, *costs]).tolist()


def learned(costs: Sequence[float], nodes: int, cost: float) -> list[float]:
    """The costs once a pass with `nodes` drafted tokens has cost `cost`; no smaller pass costs more."""
    new = costs[nodes] + (_CHEAPER if cost < costs[nodes] else _DEARER) * (cost - costs[nodes])
    less = min(0.0, new - costs[nodes])
    return [min(one, new) for one in costs[:nodes]] + [max(one + less, new) for one in costs[nodes:]]


_CAP, _FIRST_CREDIT = 0.012, 4.0  # less than 2%, since what is learned of costs lags behind
_TIMED_FIRST, _STALE = 3, 24  # plain rounds before any draft; rounds after which another one is timed
_LEAST_GAIN, _MOST_ASKED = 1.02, 7  # times plain decoding; nodes of one proposal, of which more take longer
_MOST_SLOWER = 2.0  # times the usual cost: what takes longer was disturbed by other work
_NEW_SIZE = 1.3  # times a plain round: where a GPU captures a graph anew, one behind a draft or a prompt is longer
_TOKENS, _CHOSEN_TOKENS, _PROPOSAL, _READING = 2.5, 4.0, 0.3, 2.0  # assumed of a draft that was never asked
_MEMORY, _FORGET = 16, 0.01  # rounds that count; the part of what was learned that a plain round makes usual again


class GatedDraft(Draft):
    """Cuts what one or two drafts propose to what pays.

    The `free` one takes no time. The `asked` one does, above all for an answer's first proposal, which is not counted
    if the user has `chosen` it. `costs[n]` is the usual cost of a round with n drafted tokens.
    """

    clock = staticmethod(time.perf_counter)

    def __init__(self, free: Draft, asked: Draft | None, costs: Sequence[float], *, chosen: bool = False) -> None:
        self._asked, self._chosen, self._drafts = asked, chosen, [free, asked] if asked else [free]
        self._usual, self._costs, self._credit = costs, list(costs), _FIRST_CREDIT
        self._plain_s, self._plain_rounds, self._since_plain, self._before = 0.0, 0, 0, -1
        self._hoped = (_CHOSEN_TOKENS if chosen else _TOKENS), costs[3] + _PROPOSAL
        (self._tokens, self._cost), self._waits = self._hoped, [_PROPOSAL, _READING]  # [True]: first of an answer
        self._started: float | None = None

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Begin an answer."""
        self._started, self._before, self._has_read = None, -1, False  # behind a prompt, not behind a round
        self._credit = min(self._credit, _FIRST_CREDIT + (self._waits[True] if self._asked else 0.0))
        for draft in self._drafts:
            draft.begin(prompt, abort)

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """Propose the part of a draft's tree that pays."""
        self._started, self._nodes, self._waited_s = self.clock(), 0, 0.0
        if self._plain_rounds < _TIMED_FIRST or self._since_plain >= _STALE:
            return NOTHING
        limit = min(limit, sum(cost <= 1 + self._credit for cost in self._costs[1:]))
        least = max(least, min(1.0, *((cost - 1) / size for size, cost in enumerate(self._costs) if size)))
        tree = self._cut(self._drafts[0].propose(limit, least))
        if limit and self._asked and self._asking_pays(self._rate(tree)):
            tree = max(self._proposal(self._asked, limit, least), tree, key=self._rate)
        self._nodes = len(tree)
        return tree

    def accept(self, tokens: Sequence[int]) -> None:
        """Learn from the round since `propose`, and append `tokens` to the answer."""
        if self._started is not None:
            seconds, self._started = self.clock() - self._started, None
            if self._nodes or self._waited_s:
                self._learn(len(tokens), seconds - self._waited_s)
            else:
                self._learn_plain(seconds)
            self._before = self._nodes
        for draft in self._drafts:
            draft.accept(tokens)

    def close(self) -> None:
        """Free the drafts."""
        for draft in self._drafts:
            draft.close()

    def _rate(self, tree: DraftTree) -> float:
        return (1 + sum(tree.worth)) / self._costs[len(tree)]

    def _cut(self, tree: DraftTree, spent: float = 0.0) -> DraftTree:
        """The beginning of `tree` that promises most, once `spent` is gone."""
        tokens, best, best_rate = 1.0, 0, _LEAST_GAIN / (1 + spent)
        for nodes, worth in enumerate(tree.worth, 1):
            tokens += worth
            rate = tokens / (self._costs[nodes] + spent)
            best, best_rate = (nodes, rate) if rate > best_rate else (best, best_rate)
        return tree.first(best)

    def _asking_pays(self, rate: float) -> bool:
        reading = 0.0 if self._has_read or self._chosen else self._waits[True]
        return self._tokens / self._cost > _LEAST_GAIN * max(1.0, rate) and self._credit > reading + self._cost - 1

    def _proposal(self, asked: Draft, limit: int, least: float) -> DraftTree:
        started, tree = self.clock(), asked.propose(min(limit, _MOST_ASKED), least)
        self._waited_s = self.clock() - started
        return self._cut(tree, self._waits[False])

    def _learn(self, tokens: int, seconds: float) -> None:
        """Charge what such a round usually costs: the clock of a single one says little on a busy machine."""
        cost, self._since_plain = 1.0, self._since_plain + 1
        if self._nodes:
            usual = self._costs[self._nodes]
            self._costs = learned(self._costs, self._nodes, min(seconds / self._plain_s, _MOST_SLOWER * usual))
            cost = self._costs[self._nodes]
        if self._waited_s:
            first, self._has_read = not self._has_read, True
            usual, waited = self._waits[first], self._waited_s / self._plain_s
            most = waited if first and usual != _READING else _MOST_SLOWER * usual + 1  # the very first loads code, too
            self._waits[first] += (min(waited, most) - usual) / 2
            cost += 0.0 if first and self._chosen else self._waits[first]
            self._tokens += (tokens - self._tokens) / _MEMORY
            self._cost += (cost - self._cost) / _MEMORY
        self._credit += (1 + _CAP) * tokens - cost

    def _learn_plain(self, seconds: float) -> None:
        if self._before and self._plain_rounds and seconds > _NEW_SIZE * self._plain_s:
            excess = min(seconds / self._plain_s, _MOST_SLOWER) - 1 if self._before > 0 else 0.0
            if self._before > 0:
                self._costs = learned(self._costs, self._before, self._costs[self._before] + excess)
            self._credit += _CAP - excess
            return
        self._plain_s = running_mean(self._plain_s, seconds) if self._plain_rounds else seconds
        self._plain_rounds, self._since_plain, self._credit = self._plain_rounds + 1, 0, self._credit + _CAP
        self._costs = [cost + _FORGET * (usual - cost) for cost, usual in zip(self._costs, self._usual, strict=True)]
        self._tokens += _FORGET * (self._hoped[0] - self._tokens)
        self._cost += _FORGET * (self._hoped[1] - self._cost)
