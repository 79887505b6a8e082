"""Fusion: one score for each unit from all of its features, and the log-odds that anything answers.

A question with sub-questions is scored as a whole and once for each of them. Each time the softmax of the weighted
features shares the chance of one answer among the units, and a unit's score is the logarithm of the sum of its shares.
The whole question counts one P-th as much as each of P sub-questions.

Words get a share of one answer's chance, too, by the softmax of BM25 and of what documents and tests count: the larger,
the less likely the features found an answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Scores
from winnow_engine.selection.answerability import match_features, total_features
from winnow_engine.selection.candidates import Candidates
from winnow_engine.selection.fusion_weights import FusionWeights
from winnow_engine.selection.scoring_input import ScoringInput
from winnow_engine.selection.unit_features import unit_features

_USES = re.compile(
    r"(?i)\b(call(s|ed|ers?|ing)?|use[ds]?|users?|using|usages?|invoke[ds]?|breaks?|broken|rel(y|ies)|depends?|affected"
    r"|refer(s|ences?)?)\b"
)
_DOCUMENTATION = re.compile(r"\b(docs?|documentation|documented|readme|guide|manual|tutorial)\b", re.IGNORECASE)
_USUAL_WORDS = 12

QUESTION_FEATURES = ("one", "named", "cursor", "length", "uses", "documentation")


def question_features(asked: ScoringInput) -> dict[str, float]:
    """Each of QUESTION_FEATURES, of the order of 1.

    `one` is constant. `named` is the rarity of the rarest name that the question surely means and the workspace
    defines. `uses` and `documentation` tell whether the question's words ask for users of something, or for
    documentation.
    """
    return {
        "one": 1.0,
        "named": asked.workspace.symbols.rarity(asked.matches.names.certain),
        "cursor": float(asked.question.cursor is not None),
        "length": math.log(max(len(asked.text.split()), 1) / _USUAL_WORDS),
        "uses": float(_USES.search(asked.text) is not None),
        "documentation": float(_DOCUMENTATION.search(asked.text) is not None),
    }


_SHOWN = 0.05  # the least a feature must contribute to a score to be shown with it
_WORDS_SHARE = 0.2  # of the chance that the features have found no answer
_SHARPNESS = 2.0  # of the softmax of BM25, whose best units are often a point or two apart
_KINDS = ("prose", "tests", "named_tests")  # features of a unit's kind: how often its words are meant


@dataclass(frozen=True, slots=True)
class FusedScores:
    """The scores of all units for one question.

    `total` are log-odds up to a constant, float32 [U]; -inf for units that were not scored. The constant makes the
    highest equal `log_odds`, the log-odds that anything in the workspace answers: below 0 probably nothing does.
    `units`, int64 [C] in ascending order, were scored, each for `weights` units like it, float32 [C].
    `contributions` has what each feature adds to their totals, float32 [C] each; of a question with sub-questions, in
    the one with the largest share of the unit. `log_shares`, float32 [1 + P, C], are the logarithms of the shares of
    the whole question and of its P sub-questions, if it has any. `sizing` are the scores by which `auto`
    decides how much to keep, if those are others: what a reranker adds parts units so far that the best seem sure.
    """

    total: Scores
    contributions: Mapping[str, Scores]
    log_odds: float
    units: NDArray[np.int64]
    weights: NDArray[np.float32]
    log_shares: NDArray[np.float32] | None = None
    sizing: Scores | None = None

    def among(self, units: NDArray[np.int64]) -> FusedScores:
        """The scores with all but some units ruled out."""
        if len(units) == len(self.total):
            return self
        total = _spread(self.total[units], units, len(self.total))
        shares = self.log_shares
        log_shares = None if shares is None else np.where(np.isin(self.units, units), shares, np.float32(-np.inf))
        return replace(self, total=_raised(total, self.log_odds) if len(units) else total, log_shares=log_shares)

    @property
    def of_each(self) -> list[Scores]:
        """For each question of a list, the units' scores for it alone, float32 [U]; of any other question, `total`."""
        if self.log_shares is None:
            return [self.total]
        return [_spread(shares, self.units, len(self.total)) for shares in self.log_shares[1:]]

    def with_each(self, name: str, added: Sequence[Scores]) -> FusedScores:
        """The scores with a further feature: `added`, float32 [U] each, to those that `of_each` gives."""
        if self.log_shares is None:
            return self.with_more(name, added[0])
        gains = _spread(gained(self.log_shares, np.stack(added)[:, self.units]), self.units, len(self.total))
        return self.with_more(name, gains)

    def with_more(self, name: str, added: Scores) -> FusedScores:
        """The scores with a further feature, `added` float32 [U]. The budget `auto` stays as it was."""
        contributions = {**self.contributions, name: added[self.units]}
        sizing = self.total if self.sizing is None else self.sizing
        total = _raised(self.total + added, self.log_odds)
        return replace(self, total=total, contributions=contributions, sizing=sizing)

    def score_of(self, unit: int) -> float:
        """The score of one unit, rounded to 0.0001; that of the least likely one if it was not scored."""
        score = self.total[unit]
        return round(float(score if score > -np.inf else self.total[self.units].min()), 4)

    def contributions_to(self, unit: int) -> dict[str, float]:
        """The contribution of each feature to the score of one unit, rounded to 0.01, without those below 0.05."""
        place = int(np.searchsorted(self.units, unit))
        if place == len(self.units) or self.units[place] != unit:
            return {}
        added = {name: round(float(scores[place]), 2) for name, scores in self.contributions.items()}
        return {name: value for name, value in added.items() if abs(value) >= _SHOWN}


@dataclass(frozen=True, slots=True)
class _Fused:
    """The scores of C units, as in `FusedScores`, with the candidates they are."""

    total: Scores
    contributions: Mapping[str, Scores]
    log_odds: float
    candidates: Candidates
    log_shares: NDArray[np.float32] | None = None

    @property
    def log_weights(self) -> Scores:
        """Logarithm of how many units each stands for, float32 [C]."""
        return np.log(self.candidates.weights)


def fuse(asked: ScoringInput, weights: FusionWeights) -> FusedScores:
    """The scores of the units, with each feature weighted for a question like this one."""
    whole, *subquestions = (_fuse_one(one, weights) for one in (asked, *asked.subquestions))
    fused = _combine(whole, subquestions) if subquestions else whole
    fused = _add_words(fused, asked)
    if asked.question.change is not None:
        fused = _add_related(fused, asked.question.change.related)
    scored = fused.candidates
    total = _spread(fused.total, scored.units, scored.total)
    return FusedScores(total, fused.contributions, fused.log_odds, scored.units, scored.weights, fused.log_shares)


def gained(log_shares: NDArray[np.float32], added: NDArray[np.float32]) -> Scores:
    """The gain of units, float32 [N], whose scores for each of P sub-questions rise by `added`, float32 [P, N].

    `log_shares`, float32 [1 + P, N], are those of `FusedScores` of these units. All other units keep their shares until
    the shares are made to sum up to one again.
    """
    rises = log_shares[1:] + added
    others = np.maximum(1 - np.exp(log_shares[1:], dtype=np.float64).sum(axis=1), np.finfo(np.float64).tiny)
    in_all = np.logaddexp(np.logaddexp.reduce(rises, axis=1, dtype=np.float64), np.log(others))
    rises -= in_all[:, None].astype(np.float32)
    before = np.logaddexp.reduce(log_shares)
    after = np.logaddexp(log_shares[0], np.logaddexp.reduce(rises))
    return np.asarray(np.subtract(after, before, out=np.zeros_like(before), where=before > -np.inf), np.float32)


def weigh(
    of_units: Mapping[str, Scores], of_question: Mapping[str, float], weights: FusionWeights
) -> dict[str, Scores]:
    """The contribution of each unit feature, float32 [U] each, for a question with these features."""
    return {name: np.float32(weights.weight(name, of_question)) * scores for name, scores in of_units.items()}


def _fuse_one(asked: ScoringInput, weights: FusionWeights) -> _Fused:
    """The scores of a question without regard to its sub-questions: the sum of its weighted features."""
    of_question, of_units = question_features(asked), unit_features(asked)
    contributions = weigh(of_units, of_question, weights)
    total = np.asarray(np.sum(list(contributions.values()), axis=0), np.float32)
    match = match_features(asked, of_question, of_units) | total_features(total, asked.scored.weights)
    log_odds = weights.log_odds(match)
    return _Fused(_raised(total, log_odds), contributions, log_odds, asked.scored)


def _combine(whole: _Fused, subquestions: list[_Fused]) -> _Fused:
    """The scores of a question with sub-questions. If anything answers one of them, something answers."""
    each = [whole, *subquestions]
    candidates = reduce(Candidates.with_more, (one.candidates.chosen for one in subquestions), whole.candidates)
    shares = np.stack([_among(_log_shares(one.total, one.log_weights), one.candidates, candidates) for one in each])
    shares[0] -= math.log(len(subquestions))
    log_odds = max(scores.log_odds for scores in each)
    largest = shares.argmax(axis=0)
    contributions: dict[str, Scores] = {}
    for name in whole.contributions:
        of_each = [_among(one.contributions[name], one.candidates, candidates) for one in each]
        contributions[name] = np.choose(largest, of_each)
    return _Fused(_raised(np.logaddexp.reduce(shares), log_odds), contributions, log_odds, candidates, shares)


def _among(scores: Scores, own: Candidates, candidates: Candidates) -> Scores:
    """Scores of a question's own candidates as those of all, -inf for the others."""
    return _spread(scores, np.searchsorted(candidates.units, own.units), len(candidates.units))


def _add_words(fused: _Fused, asked: ScoringInput) -> _Fused:
    """Add ln(p + λ q / (1 − λ Σ q)) − ln p to each score: p is the unit's share by its features, q by words.

    λ is 0.2 (1 − P(answer)), or a P-th of it for a question with P sub-questions.
    """
    words, log_weights = asked.matches.words[fused.candidates.units], fused.log_weights
    (units,) = np.nonzero(words)
    likely = words + np.sum([fused.contributions[name] for name in _KINDS], axis=0)
    log_lambda = math.log(_WORDS_SHARE / max(len(asked.subquestions), 1)) - np.logaddexp(0, fused.log_odds)
    by_words = log_lambda + _log_shares(_SHARPNESS * likely, log_weights)[units]
    by_features = _log_shares(fused.total, fused.log_weights)[units]
    added = np.zeros_like(fused.total)
    in_all = np.exp(by_words + log_weights[units]).sum()
    added[units] = np.logaddexp(by_features, by_words - np.log1p(-in_all)) - by_features
    contributions = {**fused.contributions, "words": fused.contributions["words"] + added}
    return replace(fused, total=_raised(fused.total + added, fused.log_odds), contributions=contributions)


def _add_related(fused: _Fused, related: Scores) -> _Fused:
    """Add what the units gain that use what changed, or that it uses. A change that has such units is answered."""
    log_odds = max(fused.log_odds, 0.0) if related.any() else fused.log_odds
    added = related[fused.candidates.units]
    contributions = {**fused.contributions, "change": added}
    return replace(fused, total=_raised(fused.total + added, log_odds), contributions=contributions, log_odds=log_odds)


def _spread(scores: Scores, places: NDArray[np.int64], count: int) -> Scores:
    """Scores, float32 [N], at these places among so many, -inf everywhere else."""
    found = np.full(count, -np.inf, np.float32)
    found[places] = scores
    return found


def _log_shares(scores: Scores, log_weights: Scores) -> Scores:
    """Logarithm of the softmax, in whose sum each score counts as often as its weight says."""
    return np.asarray(scores - np.logaddexp.reduce(scores + log_weights, dtype=np.float64), np.float32)


def _raised(scores: Scores, highest: float) -> Scores:
    return np.asarray(scores - scores.max(initial=-np.inf) + highest, np.float32)
