"""The learned weights of the kinds of evidence: how much each counts for a question like this one.

    score(u) = Σ_k w_k · x_k(u),   w_k = Σ_t A[k, t] · φ_t

x are the evidence of the units (`features.py`), φ the traits of the question (`traits.py`) and A what calibration
fitted (`winnow_research/calibration/listwise.py`). Weights of a second kind, by clue (`answerability.py`), say how
likely it is that anything answers. All are one small JSON document: {"kinds": {KIND: {TRAIT: weight}}, "clues": {CLUE:
weight}}.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from winnow_engine.errors import ProfileError


@dataclass(frozen=True, slots=True)
class Gate:
    """`kinds`: weights by kind of evidence and trait. `clues`: by clue, of the log-odds that something answers."""

    kinds: Mapping[str, Mapping[str, float]]
    clues: Mapping[str, float]

    def weight(self, kind: str, traits: Mapping[str, float]) -> float:
        """What one unit of a kind of evidence counts; 0 for a kind calibration did not know."""
        return sum(weight * traits[trait] for trait, weight in self.kinds.get(kind, {}).items())

    def log_odds(self, clues: Mapping[str, float]) -> float:
        """The log-odds that something in the workspace answers."""
        return sum(weight * clues[clue] for clue, weight in self.clues.items())

    def document(self) -> dict[str, Any]:
        """The weights as JSON has them."""
        return {"kinds": {kind: dict(row) for kind, row in self.kinds.items()}, "clues": dict(self.clues)}


def read_gate(document: Mapping[str, Any]) -> Gate:
    """The inverse of `Gate.document`. ProfileError if it is malformed."""
    try:
        kinds = {kind: {trait: float(w) for trait, w in row.items()} for kind, row in document["kinds"].items()}
        return Gate(kinds, {clue: float(weight) for clue, weight in document["clues"].items()})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProfileError(f"not the weights of a fusion: {error!r}; run `winnow calibrate` again") from error
