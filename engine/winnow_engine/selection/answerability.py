"""Answerability features: the numbers from which the probability is computed that anything in the workspace answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from winnow_engine.core import Scores
from winnow_engine.selection.scoring_input import ScoringInput

_EACH = np.ones(1, np.float32)


def match_features(
    asked: ScoringInput, question_features: Mapping[str, float], unit_features: Mapping[str, Scores]
) -> dict[str, float]:
    """The features of the question, and how well the best units match it. Each is of the order of 1.

    `best_NAME`: the highest of the drafter's scores of that name, as the drafter gives it. `known`: the share of the
    question's words that occur in the workspace. `unknown`: above 0 if that is less than half, as in other languages
    than the code's. `absent`: 1 if it names code, and the workspace has none of it. `titles`: the best match with a
    unit's name.
    """
    known = asked.workspace.lexical.known_share(asked.text)
    best = {name: float(np.fmax.reduce(scores, initial=0.0)) for name, scores in asked.drafter_scores.items()}
    return {
        **question_features,
        **{f"best_{name}": score / 10 for name, score in best.items()},
        "known": known,
        "unknown": max(0.0, 1 - 2 * known),
        "absent": float(asked.workspace.symbols.lacks_named(asked.text)),
        "titles": float(unit_features["titles"].max(initial=0.0)) / 2,
    }


def total_features(total: Scores, weights: Scores = _EACH) -> dict[str, float]:
    """The features of the units' totals. Each is of the order of 1.

    `lead`: the highest total above the mean. `spread`: ln Σ e^(total − highest), near 0 where one unit stands alone.
    Each total counts as often as `weights` says, float32 [C] or [1].
    """
    highest = total.max(initial=0.0)
    return {
        "lead": float(highest - weighted_mean(total, weights)) / 10 if len(total) else 0.0,
        "spread": float(np.log((np.exp(total - highest) * weights).sum() + 1e-9)) / 5,
    }


def weighted_mean(values: Scores, weights: Scores) -> np.float32:
    """The mean of values, each of which counts as often as `weights` says, float32 [C] or [1]."""
    if (weights == 1).all():
        return np.float32(values.mean())
    return np.float32(np.average(values, weights=np.broadcast_to(weights, values.shape)))
