"""Fitting what tells whether anything answers: logistic regression over the clues."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winnow_research.calibration.lbfgs import Vector, minimise


def fit_log_odds(clues: NDArray[np.float64], answered: NDArray[np.bool_], penalty: float = 1.0) -> NDArray[np.float64]:
    """Weights, float64 [C], of clues [N, C] for the log-odds of `answered` [N].

    Questions with and without an answer count the same together, however many there are of each. With only one of
    the two there is nothing to learn, and all weights are 0.
    """
    wanted = np.where(answered, 1.0, -1.0)
    if abs(wanted.sum()) == len(wanted):
        return np.zeros(clues.shape[1])
    counts = np.where(answered, 0.5 / answered.sum(), 0.5 / (~answered).sum())

    def objective(weights: Vector) -> tuple[float, Vector]:
        margins = wanted * (clues @ weights)
        loss = counts @ np.logaddexp(0, -margins) + penalty / len(clues) * float(weights @ weights) / 2
        slope = -counts * wanted * np.exp(-np.logaddexp(0, margins))
        return float(loss), clues.T @ slope + penalty / len(clues) * weights

    return minimise(objective, np.zeros(clues.shape[1]))
