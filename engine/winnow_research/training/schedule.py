"""The learning rate of adapters and rerankers, as a share of its peak."""

from __future__ import annotations

import math

import torch

_FINAL = 0.02  # at the end of half a cosine


def cosine(step: int, steps: int, warm_up: int, passed: float = 0.0) -> float:
    """The share at a step from 0 on: it rises over `warm_up` steps, and falls by half a cosine meanwhile.

    It falls with the steps or the share of the time that has `passed`, whichever is further on.
    """
    progress = min(max(step / steps, passed), 1.0)
    return min(1.0, (step + 1) / warm_up) * (_FINAL + (1 - _FINAL) * 0.5 * (1 + math.cos(math.pi * progress)))


def set_rates(optimiser: torch.optim.Optimizer, share: float) -> None:
    """Give each group of parameters that share of its `peak`."""
    for group in optimiser.param_groups:
        group["lr"] = group["peak"] * share
