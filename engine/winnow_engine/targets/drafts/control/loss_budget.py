"""How much to draft in each round, from what rounds of decoding have cost on this machine.

A round evaluates the answer's last token and n drafted ones in one pass. On a GPU n costs next to nothing. Where
arithmetic is the limit, as on two cores, a token that is right less than half of the time costs more than it brings.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping

from winnow_engine.llama.tree import DraftTree
from winnow_engine.targets.drafts.control.round_cost import RoundCost
from winnow_engine.targets.throughput import running_mean

# The unit of costs and budgets is the duration of a plain round, one that drafts nothing.
_FIRST = 3  # plain rounds that are timed before any draft
_MOST_SLOWER = 3.0  # times the expected cost; a round that takes longer was disturbed by other work
# Rounds after which a plain one is timed again. If it seemed slower than it is, any draft would seem to pay.
_STALE = 24
# Times a plain round. One behind a pass of another size takes longer where a GPU's graph is captured anew: 1.7 on an
# H100 (1.5B, Q4_K_M).
_CHANGE = 1.3
_FORGETTING = 8  # plain rounds, after which slow rounds of drafts count a little less
_LEAST_GAIN = 1.02  # times the tokens per second of plain rounds that a draft must promise
_FREE_BUDGET = 1.5  # what drafting may lose in an answer before it has gained anything
_PAID_BUDGET = 4.0  # the same for a draft that is not free; once this is lost, it is left alone for some answers
_PREPARATION = 6.0  # what such a draft may take before its first proposal; whether that pays, answers together show
_PLAIN_ROUND_BUDGET = 0.01  # what each plain round adds to the budget


class LossBudget:
    """Chooses how much of a draft to verify, and bounds what drafting may lose.

    `least_worth` and `cut` choose by the draft's own estimates. Where these are wrong, the budget bounds the loss: a
    round may cost at most a plain round, what drafts have gained in this answer, and a small initial budget. An answer
    of n tokens takes at most n + `_FREE_BUDGET` + `_PLAIN_ROUND_BUDGET` n plain rounds, as far as costs are known.
    """

    def __init__(self) -> None:
        self._plain_s, self._plain_rounds = math.inf, 0
        self._cost = RoundCost()
        self._since_plain = 0
        self._before: int | None = None  # nodes of the round before, None before an answer's first one
        self._remaining = _FREE_BUDGET

    def know(self, costs: Mapping[int, float]) -> None:
        """Begin with what rounds cost by the number of drafted tokens, at least one, in plain rounds."""
        self._cost.know(costs)

    @property
    def rests(self) -> bool:
        """Whether the next round is to draft nothing: to time a plain round, or because the budget is exhausted."""
        return self._plain_rounds < _FIRST or self._since_plain >= _STALE or self.exhausted

    @property
    def exhausted(self) -> bool:
        """Whether drafting has lost so much that not even one token may be drafted."""
        return self.affordable < 1

    @property
    def affordable(self) -> int:
        """How many tokens may be drafted in the next round at most."""
        return bisect_right(self._cost.curve, 1 + self._remaining) - 1

    def begin(self, free: bool) -> None:
        """Begin an answer with a fresh budget: gains and losses of other answers do not count.

        `free` says whether proposing takes no time to speak of.
        """
        self._remaining, self._before = _FREE_BUDGET if free else _PAID_BUDGET, None

    @property
    def least_worth(self) -> float:
        """The worth below which a drafted token hardly pays: the least that one costs, in plain rounds."""
        return min(1.0, self._cost.least_slope)

    def cut(self, tree: DraftTree, spent_s: float = 0.0) -> DraftTree:
        """The beginning of `tree` that promises most tokens per second; empty if plain rounds give as many.

        `spent_s` seconds have gone into the tree, however much of it is verified.
        """
        spent = self._in_rounds(spent_s)
        expected, best, best_rate = 1.0, 0, _LEAST_GAIN / (1 + spent)
        for nodes, worth in enumerate(tree.worth[: self.affordable], 1):
            expected += worth
            rate = expected / (self._cost.curve[nodes] + spent)
            if rate > best_rate:
                best, best_rate = nodes, rate
        return tree if best == len(tree) else tree.first(best)

    def rate(self, tree: DraftTree) -> float:
        """How many tokens a tree that was cut promises for each plain round, 1 or more."""
        return (1 + sum(tree.worth)) / self._cost.curve[len(tree)]

    def prepare(self, seconds: float) -> float:
        """Count time that serves all rounds of the answer, as far as it is more than usual. Returns plain rounds."""
        lost = self._in_rounds(seconds)
        self._remaining -= max(0.0, lost - _PREPARATION)
        return lost

    def learn(self, drafted: int, tokens: int, seconds: float, *, tried: bool, spent_s: float = 0.0) -> float:
        """Learn from a round in which `drafted` nodes gave `tokens` tokens in `seconds`. Returns plain rounds.

        `tried` says whether some of that time was spent on looking for a draft, even if none was found, and `spent_s`
        how much, before the pass.
        """
        before, self._before = self._before, drafted
        if not tried and before != 0 and seconds > _CHANGE * self._plain_s:
            self._charge_change(before or 0, min(seconds / self._plain_s, _MOST_SLOWER) - 1)
            return 1.0
        self._since_plain = self._since_plain + 1 if tried else 0
        if not tried:
            self._learn_plain(seconds)
            self._remaining += _PLAIN_ROUND_BUDGET
            return 1.0
        expected_s = self._plain_s * self._cost.curve[drafted]
        cost = min(seconds - spent_s, _MOST_SLOWER * expected_s) / self._plain_s
        if drafted:
            self._cost.learn(drafted, cost)
        cost += min(self._in_rounds(spent_s), _MOST_SLOWER)
        self._remaining += tokens - cost
        return cost

    def _in_rounds(self, seconds: float) -> float:
        return seconds / self._plain_s if self._plain_rounds else 0.0

    def _charge_change(self, drafted: int, excess: float) -> None:
        """Count what a plain round took longer, because `drafted` nodes came before it, as their cost.

        Before an answer's first round came the prompt, which is nobody's cost.
        """
        if drafted:
            self._cost.learn(drafted, self._cost.curve[drafted] + excess)
            self._remaining -= excess

    def _learn_plain(self, seconds: float) -> None:
        self._plain_s = running_mean(self._plain_s, seconds) if self._plain_rounds else seconds
        self._plain_rounds += 1
        if self._plain_rounds % _FORGETTING == 0:
            self._cost.forget()
