"""The loop of `winnow bench ttft`: for each size the target alone and Winnow."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow_engine.core import Budget, Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.errors import CancelledError, WinnowError
from winnow_engine.index.parse_pool import open_parse_pool
from winnow_engine.reranker.background import AFFORDED_S, open_reranker
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.evaluation.repositories import PinnedRepository
from winnow_research.first_token.limited import Placement
from winnow_research.first_token.memory import MemoryPeak, watched
from winnow_research.first_token.timed import summary
from winnow_research.first_token.vanilla import Vanilla, best_of
from winnow_research.first_token.winnow import STATES, WARM, WinnowRun
from winnow_research.first_token.workspaces import SizedWorkspace, sized_workspace

VANILLA, WINNOW = "vanilla", "winnow"
ROWS = (VANILLA, WINNOW)
BUDGETS = {"2600": Budget(2600), "auto": Budget()}

Report = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What to measure, on what.

    Where a `placement` says how the target lies, only the budget `auto` is asked for.
    """

    repository: PinnedRepository
    sizes: Sequence[int]
    rows: Sequence[str]
    repetitions: int
    vanilla_s: float
    target: Path
    drafter: Path
    placement: Placement | None = None


class FirstTokenRun:
    """Measures a plan. Each model is loaded only while it is needed, so that memory peaks are those of a user."""

    def __init__(self, plan: Plan, report: Report, cancellation: Cancellation) -> None:
        self._plan, self._report, self._cancellation = plan, report, cancellation
        self._drafter = Drafter(plan.drafter)
        self._reranker = None
        if plan.placement is None or plan.placement.reranks:
            self._reranker = open_reranker(self._drafter, AFFORDED_S)
        self._vanilla = Vanilla(plan.target, plan.repetitions, plan.vanilla_s, cancellation)
        if plan.placement:
            self._vanilla.placed = plan.placement.whole
        self._parse_pool, self._warm = open_parse_pool(), False

    def close(self) -> None:
        """End the processes that analyse files."""
        self._parse_pool.close()

    def run(self) -> Iterator[tuple[dict[str, Any], bool]]:
        """The figures of a size, as JSON has them, after each row; and whether that was the size's last row."""
        for size in self._plan.sizes:
            with tempfile.TemporaryDirectory() as folder:
                workspace = sized_workspace(self._plan.repository, size, self._drafter.count, Path(folder))
                found = self._about(workspace)
                for row in self._plan.rows:
                    self._cancellation.check()
                    self._report(f"{size:,} tokens: {row}")
                    found |= self._row(row, workspace)
                    yield found, row == self._plan.rows[-1]

    def _about(self, workspace: SizedWorkspace) -> dict[str, Any]:
        return {
            "size": workspace.wanted,
            "tokens": workspace.tokens,
            "files": len(workspace.scene.files),
            "questions": len(workspace.cases),
        }

    def _row(self, row: str, workspace: SizedWorkspace) -> dict[str, Any]:
        """One row's figures under its name, or why there are none."""
        measure = {VANILLA: self._alone, WINNOW: self._winnow}[row]
        try:
            with watched() as peak:
                figures = measure(workspace)
        except CancelledError:
            raise
        except WinnowError as error:
            return {row: {"absent": str(error)}}
        return {row: {**figures, "memory": _memory(peak)}}

    def _alone(self, workspace: SizedWorkspace) -> dict[str, Any]:
        found = self._vanilla.measure(workspace)
        tried = {str(one): them if isinstance(them, str) else summary(them) for one, them in found.items()}
        best = best_of(found)
        return {"tried": tried} if best is None else {"best": str(best[0]), **summary(best[1]), "tried": tried}

    def _winnow(self, workspace: SizedWorkspace) -> dict[str, Any]:
        with self._opened(workspace) as winnow:
            placement, found = self._plan.placement, dict[str, Any]()
            budgets = {"auto": BUDGETS["auto"]} if placement else BUDGETS
            kept = dict(zip(budgets, winnow.kept(workspace, list(budgets.values())), strict=True))
            for name, budget in budgets.items():
                turns = [winnow.repetition(workspace, budget, number) for number in range(self._plan.repetitions)]
                found[name] = {state: summary([turn[state] for turn in turns]) for state in STATES}
                found[name]["golds"] = {
                    "questions": len(kept[name]),
                    "whole": sum(gold.whole for gold in kept[name]),
                    "lines": round(sum(gold.lines for gold in kept[name]) / len(kept[name]), 4),
                }
        return found | ({"placement": placement.report(found["auto"][WARM])} if placement else {})

    @contextmanager
    def _opened(self, workspace: SizedWorkspace) -> Iterator[WinnowRun]:
        placement = self._plan.placement
        with closing(LlamaTarget.open(self._plan.target, placement.options if placement else None)) as target:
            winnow = WinnowRun(self._drafter, self._reranker, target, self._parse_pool, self._cancellation)
            if not self._warm:
                winnow.warm_up(workspace)
                self._warm = True
            yield winnow


def _memory(peak: MemoryPeak) -> dict[str, int | None]:
    return {
        "host_bytes": peak.host,
        "host_anonymous_bytes": peak.anonymous,
        "children_bytes": peak.children,
        "device_bytes": peak.device,
    }
