"""One score a unit from all kinds of evidence, and how likely it is that anything answers.

A question that asks for several things speaks with several voices: as a whole and in each of its parts, each of which
shares one answer's chance among the units, as the softmax of its own weighed evidence. A unit's score is the log of
what all voices give it together: so what a part is sure of leaves room for what the others look for. The whole, which
says little that its parts do not, has a P-th of a part's share where there are P of them.

Last, as far as the voices find no answer, words may: where a package's name stands is known without understanding it.
So the softmax of BM25 has a share of one answer's chance, the larger, the less likely it is that the voices found one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow_engine.selection.answerability import clues_in, clues_of
from winnow_engine.selection.features import Asked, Scores, gather
from winnow_engine.selection.traits import traits_of
from winnow_engine.selection.weights import Gate

_SHOWN = 0.05  # what a kind of evidence must add to a score to be shown for it
_WORDS_SHARE = 0.2  # of the chance that the voices have found no answer
_SHARPNESS = 2.0  # of the softmax of BM25, whose best units are often a point or two apart


@dataclass(frozen=True, slots=True)
class Fused:
    """`total` are the units' scores, float32 [U]: log-odds up to a constant, which makes the highest `log_odds`, those
    of anything in the workspace being an answer. Below 0 probably nothing is.

    `added` is what each kind of evidence adds in the voice that speaks most for a unit, float32 [U] each.
    """

    total: Scores
    added: Mapping[str, Scores]
    log_odds: float

    def of(self, unit: int) -> dict[str, float]:
        """What each kind of evidence adds to the score of one unit, where it is of any account."""
        added = {kind: round(float(scores[unit]), 2) for kind, scores in self.added.items()}
        return {kind: value for kind, value in added.items() if abs(value) >= _SHOWN}


def fuse(asked: Asked, gate: Gate) -> Fused:
    """The scores of the units, each kind of evidence weighed as the gate weighs it for questions with such traits."""
    whole, *parts = (_voice(one, gate) for one in (asked, *asked.parts))
    return _with_words(_together(whole, parts) if parts else whole, asked)


def weigh(evidence: Mapping[str, Scores], traits: Mapping[str, float], gate: Gate) -> dict[str, Scores]:
    """What each kind of evidence adds to every unit, float32 [U] each."""
    return {kind: np.float32(gate.weight(kind, traits)) * scores for kind, scores in evidence.items()}


def _voice(asked: Asked, gate: Gate) -> Fused:
    """One voice: Σ of its weighed evidence."""
    traits, evidence = traits_of(asked), gather(asked)
    added = weigh(evidence, traits, gate)
    total = np.asarray(np.sum(list(added.values()), axis=0), np.float32)
    log_odds = gate.log_odds(clues_of(asked, traits, evidence) | clues_in(total))
    return Fused(_raised(total, log_odds), added, log_odds)


def _together(whole: Fused, parts: list[Fused]) -> Fused:
    """What several voices say. Anything answers if anything answers one of them."""
    voices = [whole, *parts]
    shares = np.stack([_log_shares(voice.total) for voice in voices])
    shares[0] -= math.log(len(parts))
    log_odds = max(voice.log_odds for voice in voices)
    loudest = shares.argmax(axis=0)
    added = {kind: np.choose(loudest, [voice.added[kind] for voice in voices]) for kind in whole.added}
    return Fused(_raised(np.logaddexp.reduce(shares), log_odds), added, log_odds)


def _with_words(said: Fused, asked: Asked) -> Fused:
    """ln(p + λ q / (1 − λ Σ q)) for a unit with p of the voices' chance and q of the words'.

    λ is 0.2 (1 − P(answer)), or a P-th of it for a question of P parts.
    """
    (units,) = np.nonzero(asked.words)
    log_share = math.log(_WORDS_SHARE / max(len(asked.parts), 1)) - np.logaddexp(0, said.log_odds)
    words = log_share + _log_found(asked.words, units)
    voiced = _log_shares(said.total)[units]
    added = np.zeros_like(said.total)
    added[units] = np.logaddexp(voiced, words - np.log1p(-np.exp(words).sum())) - voiced
    both = {**said.added, "words": said.added["words"] + added}
    return Fused(_raised(said.total + added, said.log_odds), both, said.log_odds)


def _log_found(scores: Scores, units: NDArray[np.intp]) -> Scores:
    """Logarithm of the softmax of twice BM25, less what it would be without a word, of units that have one."""
    log_shares = _log_shares(_SHARPNESS * scores)[units]
    return np.asarray(log_shares + np.log(-np.expm1(-_SHARPNESS * scores[units])), np.float32)


def _log_shares(scores: Scores) -> Scores:
    """Logarithm of the softmax."""
    return np.asarray(scores - np.logaddexp.reduce(scores, dtype=np.float64), np.float32)


def _raised(scores: Scores, highest: float) -> Scores:
    """The scores, moved so that the highest is this."""
    return np.asarray(scores - scores.max(initial=-np.inf) + highest, np.float32)
