"""A timed answer, and what is said of several."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

REST = "rest"


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    """Seconds of wall clock from the call to the first token, and the stages that they consist of.

    `encoded_tokens` are those that the drafter read for it, `kept_tokens` those of the workspace in its prompt.
    `kept` says whether the prompt has all of the question's golds, None where it must. `tokens_per_s` is the answer's.
    """

    question: str
    seconds: float
    stages: dict[str, float]
    prompt_tokens: int
    reused_tokens: int
    encoded_tokens: int = 0
    kept_tokens: int | None = None
    kept: bool | None = None
    tokens_per_s: float = 0.0


def with_rest(stages: dict[str, float], seconds: float) -> dict[str, float]:
    """The stages, and what of the seconds lies between them, so that they add up."""
    return {**stages, REST: seconds - sum(stages.values())}


def summary(answers: Sequence[TimedAnswer]) -> dict[str, Any]:
    """Median and range of the seconds, medians of the stages and of what was read, and every answer's seconds."""
    seconds = [answer.seconds for answer in answers]
    names = max((answer.stages for answer in answers), key=len)  # not every question is reranked
    stages = {name: _median(answer.stages.get(name, 0.0) for answer in answers) for name in names}
    found: dict[str, Any] = {
        "median_s": _median(seconds),
        "range_s": [round(min(seconds), 4), round(max(seconds), 4)],
        "seconds": [round(one, 4) for one in seconds],
        "stages_s": stages,
        "prompt_tokens": _median(answer.prompt_tokens for answer in answers),
        "reused_tokens": _median(answer.reused_tokens for answer in answers),
        "tokens_per_s": _median(answer.tokens_per_s for answer in answers),
        "encoded_tokens": _median(answer.encoded_tokens for answer in answers),
    }
    if kept := [answer.kept_tokens for answer in answers if answer.kept_tokens is not None]:
        found["kept_tokens"] = _median(kept)
    if golds := [answer.kept for answer in answers if answer.kept is not None]:
        found["golds_kept"] = [sum(golds), len(golds)]
    return found


def _median(values: Any) -> float:
    return round(float(statistics.median(values)), 4)
