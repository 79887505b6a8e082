"""Minimising a smooth function of a few hundred numbers: L-BFGS (Nocedal and Wright 2006, algorithm 7.4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Objective = Callable[[Vector], tuple[float, Vector]]

_MEMORY = 10  # pairs of steps and changes of the gradient
_SUFFICIENT = 1e-4  # of the decrease the slope promises (Armijo)
_SHORTEST = 1e-6


def minimise(objective: Objective, start: Vector, steps: int = 200, tolerance: float = 1e-7) -> Vector:
    """The place, float64 [N], where a convex `objective` is smallest, which returns its value and gradient.

    Stops when a step lowers the value by less than its `tolerance`th part, or after `steps` steps.
    """
    place, (value, gradient) = start, objective(start)
    pairs: list[tuple[Vector, Vector]] = []
    for _ in range(steps):
        direction = -_newton(gradient, pairs)
        length, (lower, slope) = _shortened(objective, place, value, gradient, direction)
        step = length * direction
        if step @ (slope - gradient) > 1e-12:
            pairs = [*pairs[1 - _MEMORY :], (step, slope - gradient)]
        done = value - lower < tolerance * max(1.0, abs(value))
        place, value, gradient = place + step, lower, slope
        if done:
            break
    return place


def _newton(gradient: Vector, pairs: list[tuple[Vector, Vector]]) -> Vector:
    """The gradient times the inverse Hessian as estimated from the last steps (the two-loop recursion)."""
    q, shares = gradient.copy(), []
    for step, change in reversed(pairs):
        shares.append((step @ q) / (change @ step))
        q -= shares[-1] * change
    if pairs:
        step, change = pairs[-1]
        q *= (step @ change) / (change @ change)
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        q += step * (share - (change @ q) / (change @ step))
    return q


def _shortened(
    objective: Objective, place: Vector, value: float, gradient: Vector, direction: Vector
) -> tuple[float, tuple[float, Vector]]:
    """A step length, halved from 1 until the value falls enough, with the objective's value and gradient there."""
    length, slope = 1.0, float(gradient @ direction)
    while True:
        found = objective(place + length * direction)
        if found[0] <= value + _SUFFICIENT * length * slope or length < _SHORTEST:
            return length, found
        length /= 2
