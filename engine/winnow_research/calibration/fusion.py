"""Fits the fusion: how much each unit feature counts for which questions, and when nothing answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from winnow_engine.core import Scores
from winnow_engine.selection.answerability import total_features
from winnow_engine.selection.auto_budget import UNSURE_LOG_ODDS
from winnow_engine.selection.fusion import QUESTION_FEATURES, weigh
from winnow_engine.selection.fusion_weights import FusionWeights
from winnow_research.calibration.listwise import ListwiseExample, fit_weights
from winnow_research.calibration.log_odds import fit_log_odds
from winnow_research.calibration.observations import Observation

# Few repositories have documentation or hand-written questions: both count for more than their number. Bare names are
# easily made, and of *languages* each question comes seven times.
_COUNTS = {"doc": 6.0, "real": 3.0, "languages": 0.35, "phrase": 0.5, "symbol": 0.5}
_PENALTY = 3.0
_DIGITS = 4


def fit_fusion(
    observations: Sequence[Observation],
    weighing: Sequence[str] = QUESTION_FEATURES,
    answering: Sequence[str] = QUESTION_FEATURES,
) -> FusionWeights:
    """The weights that make the golds of all questions likeliest, and those that tell whether there is any gold.

    The former depend on the question features `weighing` alone, the latter on `answering`.
    """
    names = list(observations[0].units)
    examples = [_example(one, names, weighing) for one in observations if len(one.golds)]
    fitted = fit_weights(examples, _PENALTY)
    units = {
        name: {of: round(float(w), _DIGITS) for of, w in zip(weighing, row, strict=True)}
        for name, row in zip(names, fitted, strict=True)
    }
    return FusionWeights(units, _answerability(observations, FusionWeights(units, {}), answering))


def mean_reciprocal_rank(observations: Sequence[Observation], weights: FusionWeights) -> float:
    """Mean reciprocal rank of the best gold, over the questions that have one. Units at the cursor are not ranked."""
    return float(np.mean([_reciprocal_rank(one, weights) for one in observations if len(one.golds)]))


def refused(one: Observation, weights: FusionWeights) -> bool:
    """Whether an automatic budget keeps only the nearest code for the question."""
    return weights.log_odds(one.match | total_features(_total(one, weights))) < UNSURE_LOG_ODDS


def _example(one: Observation, names: Sequence[str], weighing: Sequence[str]) -> ListwiseExample:
    columns = np.stack([one.units[name] for name in names], axis=1)
    others = np.delete(columns, np.concatenate([one.golds, one.at_cursor]), axis=0)
    question = np.array([one.question[name] for name in weighing])
    return ListwiseExample(question, columns[one.golds], others, _COUNTS.get(one.task, 1.0))


def _answerability(
    observations: Sequence[Observation], weights: FusionWeights, answering: Sequence[str]
) -> dict[str, float]:
    """The weights of the answerability features, of the question features among them only those in `answering`."""
    found = [one.match | total_features(_total(one, weights)) for one in observations]
    names = [name for name in found[0] if name in answering or name not in QUESTION_FEATURES]
    rows = np.array([[features[name] for name in names] for features in found])
    fitted = fit_log_odds(rows, np.array([len(one.golds) > 0 for one in observations]))
    return {name: round(float(w), _DIGITS) for name, w in zip(names, fitted, strict=True)}


def _reciprocal_rank(one: Observation, weights: FusionWeights) -> float:
    total = _total(one, weights)
    total[one.at_cursor] = -np.inf
    return 1.0 / (1 + int((total > total[one.golds].max()).sum()))


def _total(one: Observation, weights: FusionWeights) -> Scores:
    return np.asarray(sum(weigh(one.units, one.question, weights).values()), np.float32)
