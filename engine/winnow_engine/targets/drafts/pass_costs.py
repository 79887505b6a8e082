"""The usual cost of a pass over several tokens, by what evaluates it: what drafts assume until rounds show another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from winnow_engine.config import TargetOptions
from winnow_engine.llama.context import evaluates_on_gpu
from winnow_engine.llama.patched_functions import has_patches
from winnow_engine.targets.drafts.base import MOST_NODES

# Plain rounds for 2, 4, 8 and 16 tokens, of Qwen2.5-Coder-1.5B in Q4_K_M: on two cores the mean of AVX2 and AVX-512, on
# an H100 with what the host does in a round (docs/results/decoding.md). Keys: on a GPU, llama.cpp built by .ci/llama.
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
    """The costs once a pass with `nodes` drafted tokens has cost `cost`.

    No smaller one costs more. Where it costs less than was thought larger ones do, too: they would never be tried.
    """
    new = costs[nodes] + (_CHEAPER if cost < costs[nodes] else _DEARER) * (cost - costs[nodes])
    less = min(0.0, new - costs[nodes])
    return [min(one, new) for one in costs[:nodes]] + [max(one + less, new) for one in costs[nodes:]]
