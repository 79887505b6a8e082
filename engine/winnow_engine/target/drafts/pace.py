"""How much drafting pays, from what rounds of decoding took on this machine.

A round evaluates the answer's last token and n drafted ones in one pass. On a GPU n costs next to nothing; on two cores
(AVX2, Q4_K, 0.5B) passes over 1, 2, 4, 8 and 16 tokens took 46, 68, 112, 215 and 355 ms, so that a token which is right
less than half of the time costs more than it brings.
"""

from __future__ import annotations

from winnow_engine.target.tree import Tree

_NEW = 0.2  # share of the newest round in a running mean
_MOST_SLOWER = 3.0  # times the expected; a round that takes longer was disturbed by other work
# Rounds after which a plain one is timed again. Were it thought slower than it is, any draft would seem to pay.
_STALE = 24
_USUAL_SLOPE = 0.5  # of a plain round: what a drafted token is thought to cost before one was tried
_FORGET = 0.02  # of a slope above the usual one, in each plain round: one slow round must not end drafting for good
_TRIAL, _FIRST_REST, _LONGEST_REST = 8, 16, 256  # rounds


class Pace:
    """The cost of a round by its drafted tokens, `plain + slope * n` seconds, and whether drafting pays at all.

    `least` and `first` choose what to draft by the draft's own estimates. Where these deceive, the account of the
    last rounds ends drafting for some rounds, for longer each time.
    """

    def __init__(self) -> None:
        self._plain: float | None = None
        self._slope = _USUAL_SLOPE
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
        """The worth below which a drafted token cannot pay: what it costs, in plain rounds."""
        return min(1.0, self._slope)

    def first(self, tree: Tree) -> Tree:
        """The beginning of a tree from which most tokens a second are expected."""
        best, size, expected = 1.0, 0, 1.0
        for nodes, worth in enumerate(tree.worth, 1):
            expected += worth
            rate = expected / (1 + self._slope * nodes)
            if rate > best:
                best, size = rate, nodes
        return tree.first(size)

    def learn(self, drafted: int, tokens: int, seconds: float, *, tried: bool) -> None:
        """A round with `drafted` nodes gave `tokens` in `seconds`; `tried` if looking for a draft cost some of them."""
        self._since_plain = self._since_plain + 1 if tried else 0
        if self._plain is None:
            self._plain = seconds
        seconds = min(seconds, _MOST_SLOWER * self._plain * (1 + self._slope * drafted))
        if drafted:
            slope = max(0.0, seconds / self._plain - 1) / drafted
            self._slope += _NEW * (slope - self._slope)
        elif not tried:
            self._plain += _NEW * (seconds - self._plain)
            self._slope -= _FORGET * max(0.0, self._slope - _USUAL_SLOPE)
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
