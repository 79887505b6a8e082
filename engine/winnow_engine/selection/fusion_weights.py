"""The learned weights of the unit features: how much each counts for a question like this one.

    score(u) = Σ_k w_k · x_k(u),   w_k = Σ_t A[k, t] · φ_t

x are the features of the units (`unit_features.py`), φ those of the question (`fusion.py`), and A is what
calibration fitted (`winnow_research/calibration/listwise.py`). The weights of the answerability features
(`answerability.py`) give the log-odds that anything answers. A profile stores both as JSON:
{"kinds": {UNIT FEATURE: {QUESTION FEATURE: weight}}, "clues": {ANSWERABILITY FEATURE: weight}}.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from winnow_engine.errors import ProfileError


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """`units`: A, by unit feature and question feature. `answerability`: by answerability feature."""

    units: Mapping[str, Mapping[str, float]]
    answerability: Mapping[str, float]

    def weight(self, unit_feature: str, question_features: Mapping[str, float]) -> float:
        """The weight w_k of a unit feature; 0 for one that calibration did not know. ProfileError as `log_odds`."""
        return _sum(self.units.get(unit_feature, {}), question_features)

    def log_odds(self, answerability_features: Mapping[str, float]) -> float:
        """The log-odds that something in the workspace answers. ProfileError if a feature with a weight is missing."""
        return _sum(self.answerability, answerability_features)

    def document(self) -> dict[str, Any]:
        """The weights as a profile's JSON has them."""
        return {"kinds": {name: dict(row) for name, row in self.units.items()}, "clues": dict(self.answerability)}


def _sum(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    if missing := sorted(weights.keys() - features.keys()):
        raise ProfileError(
            f"the profile weighs {', '.join(missing)}, which this version of Winnow does not know: "
            "upgrade it, or run `winnow calibrate` again"
        )
    return sum(weight * features[name] for name, weight in weights.items())


def read_fusion_weights(document: Mapping[str, Any]) -> FusionWeights:
    """The inverse of `FusionWeights.document`. Raises ProfileError if the document is malformed."""
    try:
        units = {name: {of: float(weight) for of, weight in row.items()} for name, row in document["kinds"].items()}
        return FusionWeights(units, {name: float(weight) for name, weight in document["clues"].items()})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProfileError(
            f"the fusion weights of the profile are malformed: {error!r}; run `winnow calibrate` again"
        ) from error
