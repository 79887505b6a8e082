"""One score a unit from all kinds of evidence, and how likely it is that anything answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from winnow_engine.selection.clues import clues_in, clues_of
from winnow_engine.selection.evidence import Asked, Scores, gather
from winnow_engine.selection.gate import Gate
from winnow_engine.selection.traits import traits_of

_SHOWN = 0.05  # what a kind of evidence must add to a score to be shown for it


@dataclass(frozen=True, slots=True)
class Fused:
    """`total`, float32 [U], is up to a constant the sum of the `parts`, what each kind of evidence adds to it.

    The highest total is `log_odds`, of anything in the workspace being an answer: below 0 probably nothing is.
    """

    total: Scores
    parts: Mapping[str, Scores]
    log_odds: float

    def of(self, unit: int) -> dict[str, float]:
        """What each kind of evidence adds to the score of one unit, where it is of any account."""
        added = {kind: round(float(scores[unit]), 2) for kind, scores in self.parts.items()}
        return {kind: value for kind, value in added.items() if abs(value) >= _SHOWN}


def fuse(asked: Asked, gate: Gate) -> Fused:
    """Σ of the evidence, each kind weighed as the gate weighs it for a question with these traits."""
    traits, evidence = traits_of(asked), gather(asked)
    parts = weigh(evidence, traits, gate)
    total = np.asarray(np.sum(list(parts.values()), axis=0), np.float32)
    log_odds = gate.log_odds(clues_of(asked, traits, evidence) | clues_in(total))
    highest = total.max(initial=-np.inf)
    return Fused(np.asarray(total - highest + log_odds, np.float32), parts, log_odds)


def weigh(evidence: Mapping[str, Scores], traits: Mapping[str, float], gate: Gate) -> dict[str, Scores]:
    """What each kind of evidence adds to every unit, float32 [U] each."""
    return {kind: np.float32(gate.weight(kind, traits)) * scores for kind, scores in evidence.items()}
