"""How much to keep where the user leaves it open: as many units as the answer seems to be spread over.

Scores are log-odds (`fusion.py`), so their softmax is each unit's share of the chance of holding the answer. The
measurements behind the numbers below are in docs/lab/auto-budget.md. Prefill takes time, on a CPU minutes:
`prefill_limit` bounds the budget by what the target reads while somebody waits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Scores

PATIENCE_S = 30.0
"""How long a target may read what `auto` keeps, unless what the answer needs takes longer."""
MOST_TOKENS = 6000
# In steps, so that a machine a little faster or slower than last time gets the same prompt: another one would have to
# be read again.
_PREFILL_LIMITS = (2600, 4000, MOST_TOKENS)
_LEAST_TOKENS, _LEAST_TOKENS_EACH = 1500, 1000
_LEAST_TOKENS_IF_SURE = 400
_SURE_SHARE, _SURE_LOG_ODDS = 0.8, 2.0  # of the best unit, and that anything answers, from which one place surely does
_MISSED = 0.2  # of the chance, that may be left out
_CLOSE = 4.0  # log-odds below the best unit, within which every unit is kept: callers of one function score alike
_NOTHING = -3.0  # log-odds of an answer below which nothing is kept; no development question with one is below


def prefill_limit(tokens_per_s: float | None) -> int:
    """The most tokens to keep for a target with this prefill throughput: 2,600, 4,000 or 6,000; 6,000 for None."""
    if tokens_per_s is None:
        return MOST_TOKENS
    in_time = tokens_per_s * PATIENCE_S
    return max((limit for limit in _PREFILL_LIMITS if limit <= in_time), default=_PREFILL_LIMITS[0])


def tokens_needed(
    scores: Scores, tokens: NDArray[np.int32], subquestions: int, most: int = MOST_TOKENS, *, at_cursor: bool = False
) -> int:
    """The tokens of the units that are likely to hold the answer to a question with so many sub-questions.

    `scores` are float32 [U], `tokens` int32 [U]. 0 if probably nothing answers. Otherwise at most `most`, but at least
    1,500, or 1,000 for each sub-question if that is more. Where one unit surely answers, 400 are enough, unless the
    question is `at_cursor`: then the surest unit may be the one that is kept in any case.
    """
    highest = scores.max(initial=-np.inf)
    if highest < _NOTHING:
        return 0
    order = np.argsort(-scores, kind="stable")
    below = scores[order] - scores[order[0]]
    chance = np.exp(below) / np.exp(below).sum()
    likely = 1 + int(np.searchsorted(np.cumsum(chance), 1 - _MISSED))
    wanted = tokens[order[: max(likely, int((below >= -_CLOSE).sum()))]].sum()
    least = max(_LEAST_TOKENS, subquestions * _LEAST_TOKENS_EACH)
    if not (subquestions or at_cursor) and chance[0] >= _SURE_SHARE and highest > _SURE_LOG_ODDS:
        least = _LEAST_TOKENS_IF_SURE
    return max(min(int(wanted), most), least)
