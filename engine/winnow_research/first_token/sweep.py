"""The wait and the recall, by how much of the workspace the target may see."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from winnow_engine.core import Budget
from winnow_research.first_token.timed import TimedAnswer
from winnow_research.first_token.winnow import Winnow
from winnow_research.first_token.workspaces import KeptGold, SizedWorkspace

RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One budget: seconds to the first token with a warm index, and shares of golds, whole and by lines, kept."""

    ratio: float
    seconds: float
    range_s: tuple[float, float]
    prompt_tokens: int
    golds_kept: float
    lines_kept: float


def sweep(winnow: Winnow, workspace: SizedWorkspace, questions: int) -> Iterator[SweepPoint]:
    """A point for each ratio: the time of `questions` answers, the recall over all questions."""
    budgets = [Budget(keep_ratio=ratio) for ratio in RATIOS]
    kept = winnow.kept(workspace, budgets)
    timed = winnow.timed(workspace, budgets, workspace.cases[:questions])
    for ratio, golds, answers in zip(RATIOS, kept, timed, strict=True):
        yield _point(ratio, golds, answers)


def _point(ratio: float, golds: list[KeptGold], answers: list[TimedAnswer]) -> SweepPoint:
    seconds = [answer.seconds for answer in answers]
    return SweepPoint(
        ratio,
        round(statistics.median(seconds), 4),
        (round(min(seconds), 4), round(max(seconds), 4)),
        round(statistics.median(answer.prompt_tokens for answer in answers)),
        round(statistics.mean(gold.whole for gold in golds), 4),
        round(statistics.mean(gold.lines for gold in golds), 4),
    )
