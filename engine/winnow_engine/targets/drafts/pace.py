"""How much drafting pays, from what rounds of decoding took on this machine.

A round evaluates the answer's last token and n drafted ones in one pass. On a GPU n costs next to nothing; where
arithmetic is the limit, as on two cores, a token that is right less than half of the time costs more than it brings.
"""

from __future__ import annotations

import math
from bisect import bisect_right

from winnow_engine.llama.tree import DraftTree
from winnow_engine.targets.drafts.cost import Cost
from winnow_engine.targets.throughput import running_mean

_FIRST = 3  # plain rounds that are timed before any draft
_MOST_SLOWER = 3.0  # times the expected; a round that takes longer was disturbed by other work
# Rounds after which a plain one is timed again. Were it thought slower than it is, any draft would seem to pay.
_STALE = 24
_FORGETTING = 8  # plain rounds, after which slow rounds of drafts count a little less
_LEAST_GAIN = 1.02  # times the tokens a second of plain rounds that a draft must promise
_STAKE = 1.5  # plain rounds that drafting may lose in an answer before it gained any
_LARGE_STAKE = 4.0  # the same where the draft is not free, and left alone for some answers once it lost this
_WAGE = 0.01  # of a plain round, that each plain round allows drafting to lose


class Pace:
    """The seconds of a plain round, what others cost beside it, and how much drafting may risk.

    `least` and `first` choose what to draft by the draft's own estimates. Where these deceive, `purse` bounds the loss:
    no round may cost more beyond a plain one than an answer has gained by drafts, and a small stake. So an answer of n
    tokens takes at most the time of n + `_STAKE` + `_WAGE` n plain rounds, as far as costs are known.
    """

    def __init__(self) -> None:
        self._plain, self._plain_rounds = math.inf, 0
        self._cost = Cost()
        self._since_plain = 0
        self._purse = _STAKE

    @property
    def rests(self) -> bool:
        """Whether to draft nothing in the next round: to learn what that costs, or because drafting did not pay."""
        return self._plain_rounds < _FIRST or self._since_plain >= _STALE or self.in_vain

    @property
    def in_vain(self) -> bool:
        """Whether drafting lost so much that not even one token may be drafted."""
        return self.affordable < 1

    @property
    def affordable(self) -> int:
        """How many tokens may be drafted in the next round at most."""
        return bisect_right(self._cost.curve, 1 + self._purse) - 1

    def begin(self, free: bool) -> None:
        """An answer begins: what others gained is not for it to lose, nor is it to pay for what they lost."""
        self._purse = _STAKE if free else _LARGE_STAKE

    @property
    def least(self) -> float:
        """The worth below which a drafted token hardly pays: what it costs at least, in plain rounds."""
        return min(1.0, self._cost.least_slope)

    def first(self, tree: DraftTree) -> DraftTree:
        """The beginning of a tree from which most tokens a second are expected; none if plain rounds give as many."""
        expected, best, best_rate = 1.0, 0, _LEAST_GAIN
        for nodes, worth in enumerate(tree.worth[: self.affordable], 1):
            expected += worth
            rate = expected / self._cost.curve[nodes]
            if rate > best_rate:
                best, best_rate = nodes, rate
        return tree if best == len(tree) else tree.first(best)

    def learn(self, drafted: int, tokens: int, seconds: float, *, tried: bool) -> None:
        """A round with `drafted` nodes gave `tokens` in `seconds`; `tried` if looking for a draft cost some of them."""
        self._since_plain = self._since_plain + 1 if tried else 0
        if not tried:
            self._learn_plain(seconds)
            self._purse += _WAGE
            return
        expected = self._plain * self._cost.curve[drafted]
        cost = min(seconds, _MOST_SLOWER * expected) / self._plain
        if drafted:
            self._cost.learn(drafted, cost)
        self._purse += tokens - cost

    def _learn_plain(self, seconds: float) -> None:
        self._plain = running_mean(self._plain, seconds) if self._plain_rounds else seconds
        self._plain_rounds += 1
        if self._plain_rounds % _FORGETTING == 0:
            self._cost.forget()
