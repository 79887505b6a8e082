"""Answerability features: the numbers from which the probability is computed that anything in the workspace answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from winnow_engine.core import Scores
from winnow_engine.selection.asked_question import AskedQuestion


def match_features(
    asked: AskedQuestion, question_features: Mapping[str, float], unit_features: Mapping[str, Scores]
) -> dict[str, float]:
    """The features of the question, and how well the best units match it. Each is of the order of 1.

    `best_NAME`: the highest of the drafter's scores of that name, as the drafter gives it. `known`: the share of the
    question's words that occur in the workspace. `titles`: the best match with a unit's name.
    """
    best = {name: float(np.fmax.reduce(scores, initial=0.0)) for name, scores in asked.drafter_scores.items()}
    return {
        **question_features,
        **{f"best_{name}": score / 10 for name, score in best.items()},
        "known": asked.workspace.lexical.known_share(asked.text),
        "titles": float(unit_features["titles"].max(initial=0.0)) / 2,
    }


def total_features(total: Scores) -> dict[str, float]:
    """What the weighted sums of the units' features show. Each is of the order of 1.

    `lead`: the highest total above the mean. `spread`: ln Σ e^(total − highest), near 0 where one unit stands alone.
    """
    highest = total.max(initial=0.0)
    return {
        "lead": float(highest - total.mean()) / 10 if len(total) else 0.0,
        "spread": float(np.log(np.exp(total - highest).sum() + 1e-9)) / 5,
    }
