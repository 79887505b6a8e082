"""How much to keep where the user leaves it open: as much as the scores say the answer is spread over.

Scores are log-odds (`fusion.py`), so their softmax is how the chance of holding the answer is shared between units.
The figures behind the numbers below are in docs/relevance.md. Reading takes time, on a CPU minutes: `readable` bounds
the list by what the target reads while people wait.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winnow_engine.selection.features import Scores

PATIENCE_S = 30.0
"""How long a target may read what `auto` keeps, unless what the answer needs takes longer."""
MOST_TOKENS = 6000
# In steps, lest every prompt be another one as the machine is a little faster or slower: what was read would be lost.
_READABLE = (2600, 4000, MOST_TOKENS)
_LEAST_TOKENS, _LEAST_TOKENS_A_PART = 1500, 1000
_MISSED = 0.2  # of the chance, that may be left out
_CLOSE = 4.0  # log-odds below the best unit, within which every unit is kept: callers of one function score alike
_NOTHING = -3.0  # log-odds of an answer below which nothing is kept; no development question with one is below


def readable(tokens_per_s: float | None) -> int:
    """How much to keep for a target that reads so fast: 2,600, 4,000 or 6,000 tokens. None is fast enough for any."""
    if tokens_per_s is None:
        return MOST_TOKENS
    return max((step for step in _READABLE if step <= tokens_per_s * PATIENCE_S), default=_READABLE[0])


def enough(scores: Scores, tokens: NDArray[np.int32], parts: int, most: int = MOST_TOKENS) -> int:
    """Tokens of the units that are likely to hold the answer to a question of so many parts.

    `scores` are float32 [U], `tokens` int32 [U]. 0 where probably nothing answers; else at least 1,500, or 1,000 a part
    if that is more, and beyond these at most `most`.
    """
    if scores.max(initial=-np.inf) < _NOTHING:
        return 0
    order = np.argsort(-scores, kind="stable")
    below = scores[order] - scores[order[0]]
    chance = np.exp(below) / np.exp(below).sum()
    likely = 1 + int(np.searchsorted(np.cumsum(chance), 1 - _MISSED))
    wanted = tokens[order[: max(likely, int((below >= -_CLOSE).sum()))]].sum()
    least = max(_LEAST_TOKENS, parts * _LEAST_TOKENS_A_PART)
    return max(min(int(wanted), most), least)
