"""The budget `auto`: as many units as the answer seems to be spread over.

Scores are log-odds (`fusion.py`), so their softmax is each unit's share of the chance of holding the answer.
`prefill_limit` bounds the budget by what a slow target reads while somebody waits. docs/results/budget.md has the
measurements behind the numbers below.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Scores

MOST_TOKENS = 6000
LEAST_TOKENS = 400
"""Tokens to keep at least, if any: enough where one place surely answers."""
# In steps, so that small changes of speed leave the prompt as it is, which need not be read again then.
_PREFILL_LIMITS = (800, 1200, 1600, 2000, 2600, 4000, MOST_TOKENS)
_STEP = 2000  # above these
_SMALL_TARGET, _MOST_TOKENS_SMALL = 3_000_000_000, 1200  # parameters, and enough tokens below (docs/results/answers.md)
_LEAST_TOKENS_UNSURE, _LEAST_TOKENS_EACH = 1500, 1000
_SURE_SHARE, _SURE_LOG_ODDS = 0.95, 4.3  # of the best unit, and that anything answers, from which one place surely does
_EACH = np.ones(1, np.float32)
_MISSED, _MISSED_BY_AGENTS = 0.2, 0.01  # of the chance, that may be left out; and that agents need not see
_CLOSE = 3.5  # log-odds below the best unit, within which every unit is kept: callers of one function score alike
UNSURE_LOG_ODDS = -2.5
"""Log-odds of an answer below which only the nearest code is kept, or none if the workspace cannot have one."""
_NOTHING = -3.476  # log-odds of 3%


def is_small(parameters: int | None) -> bool:
    """True for a target that answers no better from more than 1,200 tokens. None: its parameters are unknown."""
    return parameters is not None and parameters < _SMALL_TARGET


def useful_tokens(parameters: int | None) -> int:
    """The most tokens to keep for a target of so many parameters."""
    return _MOST_TOKENS_SMALL if is_small(parameters) else MOST_TOKENS


def prefill_limit(tokens_per_s: float | None, patience_s: float) -> int:
    """The most tokens to keep: as many as a target reads in `patience_s`, in steps from 800 to 6,000."""
    return min(readable_tokens(tokens_per_s, patience_s), MOST_TOKENS)


def readable_tokens(tokens_per_s: float | None, patience_s: float) -> int:
    """The tokens of code and question that a target reads in `patience_s`, in steps from 800 on; no limit for None."""
    in_time = sys.maxsize if tokens_per_s is None else int(min(tokens_per_s * patience_s, sys.maxsize))
    return max(_PREFILL_LIMITS[0], in_time // _STEP * _STEP, *(limit for limit in _PREFILL_LIMITS if limit <= in_time))


def tokens_needed(
    scores: Scores,
    tokens: NDArray[np.int32],
    subquestions: int,
    most: int = MOST_TOKENS,
    weights: Scores = _EACH,
    *,
    at_cursor: bool = False,
    absent: Callable[[], bool] = lambda: False,
) -> int:
    """The tokens of the units that are likely to hold the answer to a question with so many sub-questions.

    `scores` are float32 [U], `tokens` int32 [U]; each unit stands for `weights`, float32 [U] or [1]. 400 if probably
    nothing answers, and none if besides all that the question names is `absent` from the workspace. Otherwise at least
    1,500, or 1,000 for each sub-question if that is more, as far as `most` allows.
    Where one unit surely answers, 400 are enough, and that unit is kept whole even if it has more than `most`; but not
    if the question is `at_cursor`: then the surest unit may be the one that is kept in any case.
    """
    highest = scores.max(initial=-np.inf)
    if highest < UNSURE_LOG_ODDS:
        return 0 if highest < _NOTHING and (not len(scores) or absent()) else min(LEAST_TOKENS, most)
    order, chance = _by_chance(scores, weights)
    likely = 1 + int(np.searchsorted(np.cumsum(chance), 1 - _MISSED))
    wanted = tokens[order[: max(likely, int((scores >= highest - _CLOSE).sum()))]].sum()
    least = max(_LEAST_TOKENS_UNSURE, subquestions * _LEAST_TOKENS_EACH)
    if not (subquestions or at_cursor) and chance[0] >= _SURE_SHARE and highest > _SURE_LOG_ODDS:
        least, most = LEAST_TOKENS, max(most, min(int(tokens[order[0]]), MOST_TOKENS))
    return min(max(int(wanted), least), most)


def enough(scores: Scores, tokens: NDArray[np.int32], weights: Scores = _EACH) -> int:
    """The tokens of the units that hold 99% of the chance, at least 400: no more for an agent, who can ask again."""
    order, chance = _by_chance(scores, weights)
    likely = 1 + int(np.searchsorted(np.cumsum(chance), 1 - _MISSED_BY_AGENTS))
    return max(LEAST_TOKENS, int(tokens[order[:likely]].sum()))


def _by_chance(scores: Scores, weights: Scores) -> tuple[NDArray[np.int64], Scores]:
    """The units, the likeliest first, int64 [U], and in that order their chances, float32 [U]."""
    order = np.argsort(-scores, kind="stable")
    odds = np.exp(scores[order] - scores[order[0]])
    return order, odds / (odds * np.broadcast_to(weights, scores.shape)[order]).sum()
