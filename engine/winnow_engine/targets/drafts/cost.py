"""What a round of decoding costs by how many tokens were drafted for it, learned from the rounds there were.

The cost is no straight line: kernels take tokens by fours or sixteens, and on a GPU the weights' way to the processor
costs more than all tokens of a tree. A core of an AMD EPYC (AVX2, Q4_K_M, 1.5B) took 1.7, 3.1, 8.7 and 10.5 plain
rounds for passes over 2, 4, 8 and 16 tokens, and with clang's kernels 2.6 for 3, but 2.1 for 4.
"""

from __future__ import annotations

from itertools import pairwise

from winnow_engine.targets.drafts.base import MOST_NODES
from winnow_engine.targets.throughput import running_mean

_USUAL_SLOPE = 0.5  # plain rounds that a drafted token is thought to cost before one was tried
# Times what a token of the largest size tried costs, for each beyond: costs have steps, which only hope finds.
_HOPE = 0.75
_FORGET = 0.04  # of what is above the usual cost, each time: slow rounds must not end drafting for good
_USUAL = [1 + _USUAL_SLOPE * size for size in range(MOST_NODES + 1)]


class Cost:
    """Plain rounds that a round takes, by its drafted tokens: running means at sizes tried, straight lines between.

    `curve` has MOST_NODES + 1 of them, begins with the plain round's 1 and does not fall. (A list: on so few numbers
    arrays take longer, and each token of an answer waits for this.) `least_slope` is what a drafted token costs at the
    size at which it costs least.
    """

    def __init__(self) -> None:
        self._means: dict[int, float] = {}
        self._draw()

    def learn(self, drafted: int, cost: float) -> None:
        """A round with `drafted` tokens, at least one, took `cost` plain rounds."""
        known = self._means.get(drafted)
        self._means[drafted] = (cost + self.curve[drafted]) / 2 if known is None else running_mean(known, cost)
        self._draw()

    def forget(self) -> None:
        """Some plain rounds went by: come a little nearer to the usual cost where the learned one is above."""
        above = {size: mean - _USUAL[size] for size, mean in self._means.items() if mean > _USUAL[size]}
        for size, excess in above.items():
            self._means[size] -= _FORGET * excess
        if above:
            self._draw()

    def _draw(self) -> None:
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
        slope = _HOPE * (costs[-1] - 1) / largest if largest else _USUAL_SLOPE
        return curve + _line(costs[-1], slope, MOST_NODES + 1 - largest)


def _line(start: float, slope: float, points: int) -> list[float]:
    return [start + slope * point for point in range(points)]
