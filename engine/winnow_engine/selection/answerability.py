"""What tells whether anything in the workspace answers a question: the numbers its probability is made of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from winnow_engine.selection.features import Asked, Scores


def clues_of(asked: Asked, traits: Mapping[str, float], evidence: Mapping[str, Scores]) -> dict[str, float]:
    """The question's traits, and how well the best units match it. Each clue is of the order of 1.

    `best_KIND`: the highest score of a kind of the drafter's, as the drafter gives it; `known`: the share of the
    question's words that the workspace has; `titles`: the best match of a unit's name.
    """
    return {
        **traits,
        **{f"best_{kind}": float(scores.max(initial=0.0)) / 10 for kind, scores in asked.drafted.items()},
        "known": asked.workspace.lexical.known_share(asked.text),
        "titles": float(evidence["titles"].max(initial=0.0)) / 2,
    }


def clues_in(total: Scores) -> dict[str, float]:
    """What all evidence together shows. Each clue is of the order of 1.

    `lead`: the highest total above the mean; `spread`: ln Σ e^(total − highest), near 0 where one unit stands alone.
    """
    highest = total.max(initial=0.0)
    return {
        "lead": float(highest - total.mean()) / 10 if len(total) else 0.0,
        "spread": float(np.log(np.exp(total - highest).sum() + 1e-9)) / 5,
    }
