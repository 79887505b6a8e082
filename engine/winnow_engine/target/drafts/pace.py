"""How much drafting pays, from what rounds of decoding took on this machine.

A round evaluates the answer's last token and n drafted ones in one pass. On a GPU n costs next to nothing; where
arithmetic is the limit, as on two cores, a token that is right less than half of the time costs more than it brings.
"""

from __future__ import annotations

import numpy as np

from winnow_engine.target.drafts.cost import Cost
from winnow_engine.target.tree import Tree

_NEW = 0.2  # share of the newest round in a running mean
_MOST_SLOWER = 3.0  # times the expected; a round that takes longer was disturbed by other work
# Rounds after which a plain one is timed again. Were it thought slower than it is, any draft would seem to pay.
_STALE = 24
_LEAST_GAIN = 1.02  # times the tokens a second of plain rounds that a draft must promise
_TRIAL, _FIRST_REST, _LONGEST_REST = 8, 16, 256  # rounds


class Pace:
    """The seconds of a plain round, what others cost beside it, and whether drafting pays at all.

    `least` and `first` choose what to draft by the draft's own estimates. Where these deceive, the account of the
    last rounds ends drafting for some rounds, for longer each time.
    """

    def __init__(self) -> None:
        self._plain: float | None = None
        self._cost = Cost()
        self._since_plain = 0
        self._gain, self._trial = 0.0, 0
        self._rest, self._next_rest = 0, _FIRST_REST

    @property
    def rests(self) -> bool:
        """Whether to draft nothing in the next round: to learn what that costs, or because drafting did not pay."""
        return self._plain is None or self._since_plain >= _STALE or self._rest > 0

    @property
    def in_vain(self) -> bool:
        """Whether drafting rests because it did not pay."""
        return self._rest > 0

    def wake(self) -> None:
        """Begin a trial, for a draft that costs too much to be tried as often as the account would have it."""
        self._rest = 0

    @property
    def least(self) -> float:
        """The worth below which a drafted token hardly pays: what it costs at least, in plain rounds."""
        return min(1.0, self._cost.least_slope)

    def first(self, tree: Tree) -> Tree:
        """The beginning of a tree from which most tokens a second are expected; none if plain rounds give as many."""
        expected = 1 + np.cumsum([0.0, *tree.worth])
        rates = expected / self._cost.curve[: len(expected)]
        best = int(np.argmax(rates))
        return tree.first(best if rates[best] >= _LEAST_GAIN else 0)

    def learn(self, drafted: int, tokens: int, seconds: float, *, tried: bool) -> None:
        """A round with `drafted` nodes gave `tokens` in `seconds`; `tried` if looking for a draft cost some of them."""
        self._since_plain = self._since_plain + 1 if tried else 0
        if self._plain is None:
            self._plain = seconds
        seconds = min(seconds, _MOST_SLOWER * self._plain * float(self._cost.curve[drafted]))
        if drafted:
            self._cost.learn(drafted, seconds / self._plain)
        elif not tried:
            self._plain += _NEW * (seconds - self._plain)
            self._cost.forget()
        self._account(tokens - seconds / self._plain, counts=tried)

    def _account(self, gain: float, *, counts: bool) -> None:
        """`gain` is how many plain rounds the last round saved."""
        if self._rest:
            self._rest -= 1
            return
        if not counts:
            return
        self._gain, self._trial = self._gain + gain, self._trial + 1
        if self._trial == _TRIAL:
            if self._gain < 0:
                self._rest, self._next_rest = self._next_rest, min(2 * self._next_rest, _LONGEST_REST)
            else:
                self._next_rest = _FIRST_REST
            self._gain, self._trial = 0.0, 0
