"""Fits the answerability features: logistic regression of whether anything answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winnow_research.calibration.lbfgs import Vector, minimise


def fit_log_odds(features: NDArray[np.float64], answered: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Weights, float64 [C], with which features [N, C] give the log-odds of `answered` [N].

    Questions with an answer count as much, together, as those without, however many there are of each. If all are of
    one kind there is nothing to learn, and all weights are 0.
    """
    wanted = np.where(answered, 1.0, -1.0)
    if abs(wanted.sum()) == len(wanted):
        return np.zeros(features.shape[1])
    penalty = 1 / len(features)
    counts = np.where(answered, 0.5 / answered.sum(), 0.5 / (~answered).sum())

    def objective(weights: Vector) -> tuple[float, Vector]:
        margins = wanted * (features @ weights)
        loss = counts @ np.logaddexp(0, -margins) + penalty * float(weights @ weights) / 2
        slope = -counts * wanted * np.exp(-np.logaddexp(0, margins))
        return float(loss), features.T @ slope + penalty * weights

    return minimise(objective, np.zeros(features.shape[1]))
