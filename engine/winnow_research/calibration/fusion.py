"""Fitting the gate: what each kind of evidence counts for which questions, and when nothing answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from winnow_engine.core import Scores
from winnow_engine.selection.answerability import total_features
from winnow_engine.selection.auto_budget import tokens_needed
from winnow_engine.selection.fusion import weigh
from winnow_engine.selection.fusion_weights import FusionWeights
from winnow_engine.selection.question_features import QUESTION_FEATURES
from winnow_research.calibration.listwise import ListwiseExample, fit_weights
from winnow_research.calibration.log_odds import fit_log_odds
from winnow_research.calibration.observations import Observation

# Few repositories have documentation, or questions written by hand; both are worth more than their number.
_COUNTS = {"doc": 6.0, "real": 3.0}
_PENALTY = 3.0
_DIGITS = 4


def fit_gate(observations: Sequence[Observation]) -> FusionWeights:
    """The weights that make the golds of all questions likeliest, and those that tell whether there is any gold."""
    kinds = list(observations[0].evidence)
    examples = [_example(one, kinds) for one in observations if len(one.golds)]
    fitted = fit_weights(examples, _PENALTY)
    rows = {
        kind: {trait: round(float(w), _DIGITS) for trait, w in zip(QUESTION_FEATURES, row, strict=True)}
        for kind, row in zip(kinds, fitted, strict=True)
    }
    return FusionWeights(rows, _clues(observations, FusionWeights(rows, {})))


def mean_reciprocal_rank(observations: Sequence[Observation], gate: FusionWeights) -> float:
    """Of the best gold among the units not at the cursor, over the questions that have one."""
    return float(np.mean([_reciprocal_rank(one, gate) for one in observations if len(one.golds)]))


def refused(one: Observation, gate: FusionWeights) -> bool:
    """Whether an automatic budget keeps nothing for the question."""
    total = _total(one, gate)
    scores = total - total.max() + np.float32(gate.log_odds(one.clues | total_features(total)))
    return not tokens_needed(scores, np.ones(len(total), np.int32), 0)


def _example(one: Observation, kinds: Sequence[str]) -> ListwiseExample:
    columns = np.stack([one.evidence[kind] for kind in kinds], axis=1)
    others = np.delete(columns, np.concatenate([one.golds, one.given]), axis=0)
    traits = np.array([one.traits[trait] for trait in QUESTION_FEATURES])
    return ListwiseExample(traits, columns[one.golds], others, _COUNTS.get(one.task, 1.0))


def _clues(observations: Sequence[Observation], gate: FusionWeights) -> dict[str, float]:
    found = [one.clues | total_features(_total(one, gate)) for one in observations]
    rows = np.array([list(clues.values()) for clues in found])
    weights = fit_log_odds(rows, np.array([len(one.golds) > 0 for one in observations]))
    return {clue: round(float(w), _DIGITS) for clue, w in zip(found[0], weights, strict=True)}


def _reciprocal_rank(one: Observation, gate: FusionWeights) -> float:
    total = _total(one, gate)
    total[one.given] = -np.inf
    return 1.0 / (1 + int((total > total[one.golds].max()).sum()))


def _total(one: Observation, gate: FusionWeights) -> Scores:
    return np.asarray(sum(weigh(one.evidence, one.traits, gate).values()), np.float32)
