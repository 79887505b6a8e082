"""What a round of decoding costs by the number of drafted tokens in it, learned from the rounds so far.

The cost is not linear: kernels take tokens by fours or sixteens, and on a GPU loading the weights costs more than all
tokens of a tree. A core of an AMD EPYC (AVX2, Q4_K_M, 1.5B) took 1.7, 3.1, 8.7 and 10.5 plain rounds for passes over
2, 4, 8 and 16 tokens, and with clang's kernels 2.6 for 3, but 2.1 for 4; two cores with AVX-512 and VNNI take 1.1, 1.3,
1.8 and 3.2 (docs/results/decoding.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from winnow_engine.targets.drafts.base import MOST_NODES
from winnow_engine.targets.throughput import running_mean

_USUAL_SLOPE = 0.5  # plain rounds that a drafted token is assumed to cost before any was tried
# Beyond the largest size tried, each token is assumed to cost this many times what one costs at that size. Costs have
# steps, and only optimism finds them.
_OPTIMISM = 0.75
_FORGET = 0.04  # of what is above the usual cost, each time: slow rounds must not end drafting for good
_USUAL = [1 + _USUAL_SLOPE * size for size in range(MOST_NODES + 1)]


class RoundCost:
    """The cost of a round, in plain rounds: running means at the sizes tried, straight lines between them.

    `curve[n]` is the cost of a round with n drafted tokens, for n up to MOST_NODES. It begins with 1, the plain round,
    and never falls. (It is a list: for so few numbers arrays take longer, and each token of an answer waits for this.)
    `least_slope` is what a drafted token costs at the size at which it costs least.
    """

    def __init__(self) -> None:
        self._means: dict[int, float] = {}
        self._update_curve()

    def know(self, costs: Mapping[int, float]) -> None:
        """Begin with `costs` by size, in plain rounds, where no round has shown others."""
        self._means = {**costs, **self._means}
        self._update_curve()

    def learn(self, drafted: int, cost: float) -> None:
        """Learn that a round with `drafted` tokens, at least one, took as long as `cost` plain rounds."""
        known = self._means.get(drafted)
        self._means[drafted] = (cost + self.curve[drafted]) / 2 if known is None else running_mean(known, cost)
        self._update_curve()

    def forget(self) -> None:
        """Move costs that are above the usual ones a little nearer to these, after some plain rounds."""
        above = {size: mean - _USUAL[size] for size, mean in self._means.items() if mean > _USUAL[size]}
        for size, excess in above.items():
            self._means[size] -= _FORGET * excess
        if above:
            self._update_curve()

    def _update_curve(self) -> None:
        self.curve = self._interpolated()
        self.least_slope = min((cost - 1) / size for size, cost in enumerate(self.curve) if size)

    def _interpolated(self) -> list[float]:
        sizes = [0, *sorted(self._means)]
        costs = [1.0, *(self._means[size] for size in sizes[1:])]
        for before in reversed(range(len(costs) - 1)):
            costs[before] = min(costs[before], costs[before + 1])
        costs = [max(1.0, cost) for cost in costs]
        curve: list[float] = []
        for (size, cost), (next_size, next_cost) in pairwise(zip(sizes, costs, strict=True)):
            curve += _line(cost, (next_cost - cost) / (next_size - size), next_size - size)
        largest = sizes[-1]
        slope = _OPTIMISM * (costs[-1] - 1) / largest if largest else _USUAL_SLOPE
        return curve + _line(costs[-1], slope, MOST_NODES + 1 - largest)


def _line(start: float, slope: float, points: int) -> list[float]:
    return [start + slope * point for point in range(points)]
