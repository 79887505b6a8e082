"""Fits the fusion's weights: each gold of a question competes with all units that are not golds.

The loss of a question is the mean over its golds g of −ln(e^s(g) / (e^s(g) + Σ_n e^s(n))), where n are the units that
are not golds. For one gold this is the listwise cross-entropy of Cao et al. 2007; several golds do not compete with
each other. The scores s are linear in the weights, so the loss is convex, and its minimum does not depend on the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow_research.calibration.lbfgs import Vector, minimise

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ListwiseExample:
    """A question: its features [T], those of its golds [G, K] and of all other units [N, K], and its weight."""

    question: NDArray[np.float64]
    golds: Matrix
    others: Matrix
    weight: float = 1.0


def fit_weights(examples: Sequence[ListwiseExample], penalty: float) -> NDArray[np.float64]:
    """The weights A, float64 [K, T], that minimise mean loss + penalty / questions · ½ Σ A²."""
    shape = examples[0].golds.shape[1], len(examples[0].question)
    total = sum(example.weight for example in examples)

    def objective(flat: Vector) -> tuple[float, Vector]:
        weights = flat.reshape(shape)
        loss = penalty / len(examples) * float(flat @ flat) / 2
        gradient = penalty / len(examples) * weights
        for example in examples:
            value, by_feature = _loss(example, weights @ example.question)
            loss += example.weight / total * value
            gradient = gradient + example.weight / total * np.outer(by_feature, example.question)
        return loss, gradient.ravel()

    return minimise(objective, np.zeros(shape[0] * shape[1])).reshape(shape)


def _loss(example: ListwiseExample, by_feature: Vector) -> tuple[float, Vector]:
    """A question's loss, and its gradient with respect to the weights of the unit features, float64 [K]."""
    weights = by_feature.astype(np.float32)
    others, golds = example.others @ weights, example.golds @ weights
    highest = others.max()
    powers = np.exp(others - highest)
    behind = highest + np.log(powers.sum()) - golds
    share = 1 / (1 + np.exp(-behind))
    gradient = share.sum() * (powers / powers.sum() @ example.others) - share @ example.golds
    return float(np.logaddexp(0, behind).mean()), np.asarray(gradient, np.float64) / len(golds)
