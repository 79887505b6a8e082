"""Question features: the numbers that decide how much each unit feature counts for a question."""

from __future__ import annotations

import math
import re

from winnow_engine.selection.scoring_input import ScoringInput

_USES = re.compile(
    r"\b(call(s|ed|ers?|ing)?|use[ds]?|users?|using|usages?|invoke[ds]?|breaks?|broken|rel(y|ies)|depends?|affected"
    r"|refer(s|ences?)?)\b",
    re.IGNORECASE,
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
