"""One score for each unit from all its features, and how likely it is that anything answers.

A question with sub-questions is scored as a whole and once for each of them. Each time, the chance of one answer is
shared among the units, by the softmax of their weighted features. A unit's score is the logarithm of the sum of its
shares. So a unit that one sub-question is sure of leaves room for what the others look for. The whole question says
little that its P sub-questions do not; it counts one P-th as much as each of them.

Words get a share of one answer's chance too, by the softmax of BM25: a package's name, for example, can be found
without being understood. Their share is the larger, the less likely it is that the features found an answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Scores
from winnow_engine.selection.answerability import match_features, total_features
from winnow_engine.selection.asked_question import AskedQuestion
from winnow_engine.selection.fusion_weights import FusionWeights
from winnow_engine.selection.question_features import question_features
from winnow_engine.selection.unit_features import unit_features

_SHOWN = 0.05  # the least a feature must contribute to a score to be shown with it
_WORDS_SHARE = 0.2  # of the chance that the features have found no answer
_SHARPNESS = 2.0  # of the softmax of BM25, whose best units are often a point or two apart


@dataclass(frozen=True, slots=True)
class FusedScores:
    """The scores of all units for one question.

    `total` are log-odds up to a constant, float32 [U]. The constant makes the highest equal `log_odds`, the log-odds
    that anything in the workspace answers: below 0 probably nothing does. `contributions` has what each feature adds
    to the totals, float32 [U] each; of a question with sub-questions, in the one with the largest share of the unit.
    """

    total: Scores
    contributions: Mapping[str, Scores]
    log_odds: float

    def among(self, units: NDArray[np.int64]) -> FusedScores:
        """The scores with all but some units ruled out."""
        if len(units) == len(self.total):
            return self
        total = np.full_like(self.total, -np.inf)
        total[units] = self.total[units]
        return replace(self, total=_raised(total, self.log_odds) if len(units) else total)

    def contributions_to(self, unit: int) -> dict[str, float]:
        """What each feature adds to the score of one unit, rounded to 0.01, without those below 0.05."""
        added = {name: round(float(scores[unit]), 2) for name, scores in self.contributions.items()}
        return {name: value for name, value in added.items() if abs(value) >= _SHOWN}


def fuse(asked: AskedQuestion, weights: FusionWeights) -> FusedScores:
    """The scores of the units, with each feature weighted for a question like this one."""
    whole, *subquestions = (_fuse_one(one, weights) for one in (asked, *asked.subquestions))
    return _add_words(_combine(whole, subquestions) if subquestions else whole, asked)


def weigh(
    of_units: Mapping[str, Scores], of_question: Mapping[str, float], weights: FusionWeights
) -> dict[str, Scores]:
    """What each unit feature adds to every unit's score, float32 [U] each, for a question with these features."""
    return {name: np.float32(weights.weight(name, of_question)) * scores for name, scores in of_units.items()}


def _fuse_one(asked: AskedQuestion, weights: FusionWeights) -> FusedScores:
    """The scores of a question without regard to its sub-questions: the sum of its weighted features."""
    of_question, of_units = question_features(asked), unit_features(asked)
    contributions = weigh(of_units, of_question, weights)
    total = np.asarray(np.sum(list(contributions.values()), axis=0), np.float32)
    log_odds = weights.log_odds(match_features(asked, of_question, of_units) | total_features(total))
    return FusedScores(_raised(total, log_odds), contributions, log_odds)


def _combine(whole: FusedScores, subquestions: list[FusedScores]) -> FusedScores:
    """The scores of a question with sub-questions. If anything answers one of them, something answers."""
    all_scores = [whole, *subquestions]
    shares = np.stack([_log_shares(scores.total) for scores in all_scores])
    shares[0] -= math.log(len(subquestions))
    log_odds = max(scores.log_odds for scores in all_scores)
    largest = shares.argmax(axis=0)
    contributions = {
        name: np.choose(largest, [scores.contributions[name] for scores in all_scores]) for name in whole.contributions
    }
    return FusedScores(_raised(np.logaddexp.reduce(shares), log_odds), contributions, log_odds)


def _add_words(fused: FusedScores, asked: AskedQuestion) -> FusedScores:
    """Add ln(p + λ q / (1 − λ Σ q)) − ln p to each score: p is the unit's share by its features, q by BM25.

    λ is 0.2 (1 − P(answer)), or a P-th of it for a question with P sub-questions.
    """
    (units,) = np.nonzero(asked.words)
    log_lambda = math.log(_WORDS_SHARE / max(len(asked.subquestions), 1)) - np.logaddexp(0, fused.log_odds)
    by_words = log_lambda + _log_word_shares(asked.words, units)
    by_features = _log_shares(fused.total)[units]
    added = np.zeros_like(fused.total)
    added[units] = np.logaddexp(by_features, by_words - np.log1p(-np.exp(by_words).sum())) - by_features
    contributions = {**fused.contributions, "words": fused.contributions["words"] + added}
    return FusedScores(_raised(fused.total + added, fused.log_odds), contributions, fused.log_odds)


def _log_word_shares(scores: Scores, units: NDArray[np.intp]) -> Scores:
    """Logarithm of: the softmax of twice BM25, less what a unit without any word of the question gets of it."""
    log_shares = _log_shares(_SHARPNESS * scores)[units]
    return np.asarray(log_shares + np.log(-np.expm1(-_SHARPNESS * scores[units])), np.float32)


def _log_shares(scores: Scores) -> Scores:
    """Logarithm of the softmax."""
    return np.asarray(scores - np.logaddexp.reduce(scores, dtype=np.float64), np.float32)


def _raised(scores: Scores, highest: float) -> Scores:
    """The scores, shifted so that the highest is `highest`."""
    return np.asarray(scores - scores.max(initial=-np.inf) + highest, np.float32)
