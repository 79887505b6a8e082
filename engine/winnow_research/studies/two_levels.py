"""Does a search in two levels keep what a scan of every unit keeps?

Every question of a split's tasks is asked both ways, also with fewer candidates; kept golds are compared. `--joined`
puts all repositories with questions of *real*, and as many others as make up so many tokens, into one workspace, and
asks these questions about it. Workspaces smaller than the product's threshold are searched in two levels, too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from winnow_engine.core import Budget, Cancellation
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.question import Question
from winnow_engine.selection.asked_question import AskedQuestion, ask_drafter
from winnow_engine.selection.budget import choose
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.fusion_weights import read_fusion_weights
from winnow_engine.selection.key_cache import KeyCache
from winnow_engine.selection.ranking import Ranked
from winnow_engine.selection.two_levels import Breadth, TwoLevelSearch
from winnow_engine.selection.workspace_units import WorkspaceUnits
from winnow_engine.store import Store
from winnow_research.cli.bench.shared import parse_size
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.cases import Case, Scene
from winnow_research.evaluation.corpus import Corpus, corpus_of
from winnow_research.evaluation.figures import BUDGETS, Outcome
from winnow_research.evaluation.methods.base import Ranking
from winnow_research.evaluation.parallel import WorkItem
from winnow_research.evaluation.processes import spread
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.run import laid_out, outcome
from winnow_research.evaluation.tasks import all_tasks
from winnow_research.machine import report
from winnow_research.studies import study_parser
from winnow_research.studies.select_speed import chosen

EXHAUSTIVE = "every unit"
_TASKS = ("real", "describe", "multi", "cursor", "usage", "doc")
_DIVISORS = (1, 2, 4, 16)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question asked one way: what `auto` and each budget keep, how many units were scored, in how long."""

    outcome: Outcome
    auto_tokens: int
    auto_places: frozenset[tuple[int, int, int]]
    log_odds: float
    scored: int
    seconds: float


@dataclass
class Comparison:
    """Asks every question of scenes both ways."""

    corpus: Corpus
    cache: KeyCache
    store: Store
    divisors: Sequence[int]

    def of_item(self, item: WorkItem) -> list[Asked]:
        """The questions of a task about one repository."""
        scenes = all_tasks()[item.task].scenes(replace(self.corpus, asked=item.repository), item.tokens)
        return [one for scene in scenes if scene.cases for one in self.of_scene(scene, item.tokens)]

    def of_scene(self, scene: Scene, tokens: int) -> Iterator[Asked]:
        """The questions of a scene, each asked every way before the next one."""
        never, drafter = Cancellation(), self.cache.drafter
        with tempfile.TemporaryDirectory() as folder:
            workspace = laid_out(scene, Path(folder), self.store, self.corpus.count, never).workspace
            keys = self.cache.of(workspace, lambda _: None, never)
            ways: dict[str, Callable[[Question], AskedQuestion]] = {
                EXHAUSTIVE: partial(ask_drafter, workspace, keys, drafter, cancellation=never)
            }
            for divisor in self.divisors:
                search = TwoLevelSearch(workspace, keys, drafter, narrower(divisor))
                ways[f"breadth / {divisor}"] = partial(search.ask, cancellation=never)
            for case in scene.cases:
                for name, ask in ways.items():
                    started = time.perf_counter()
                    asked = ask(workspace.located(case.question))
                    yield self._judged(name, tokens, case, asked, keys, started)

    def _judged(self, name: str, tokens: int, case: Case, asked: AskedQuestion, keys: Any, started: float) -> Asked:
        drafter, workspace = self.cache.drafter, asked.workspace
        scores = fuse(asked, read_fusion_weights(drafter.fusion))
        ranked = Ranked(case.question, workspace, keys, keys.unit_tokens, scores, drafter)
        seconds = time.perf_counter() - started
        source = WorkspaceUnits(workspace, keys.unit_tokens, drafter.count)
        focus = source.focus(case.question.cursor) if case.question.cursor else None
        ranking = Ranking(scores.total, lambda budget: choose(source, ranked.worth, budget, focus))
        auto = ranked.tokens(Budget())
        places = frozenset((piece.unit, piece.start_line, piece.end_line) for piece in ranking.keep(auto))
        found = outcome(name, tokens, case, workspace, ranking)
        return Asked(found, auto, places, float(scores.log_odds), len(scores.units), seconds)


def narrower(divisor: int) -> Breadth:
    """A part of the candidates that the product takes."""
    usual = Breadth()
    return Breadth(usual.coarse // divisor, usual.words // divisor, usual.linked // divisor)


def joined(split: Split, names: Sequence[str], tokens: int, corpus: Corpus) -> Scene:
    """One workspace of several repositories of a split, with the *real* questions about them."""
    ours = {one.name for one in repositories(split)}
    together = [one for one in chosen(names, tokens) if one.name in ours]
    cases = [
        case
        for one in together
        for scene in all_tasks()["real"].scenes(replace(corpus, asked=one.name), 0)
        for case in scene.cases
    ]
    return Scene(f"{len(together)} repositories", tuple(file for one in together for file in one.files()), tuple(cases))


def table(found: Sequence[Asked]) -> list[dict[str, Any]]:
    """By task, size and way: % of questions with all golds kept, and how that differs from scoring every unit."""
    groups: dict[tuple[str, int], dict[str, list[Asked]]] = {}
    for one in found:
        of_task = groups.setdefault((one.outcome.task, one.outcome.tokens), {})
        of_task.setdefault(one.outcome.method, []).append(one)
    return [
        _row(task, tokens, way, asked, ways[EXHAUSTIVE])
        for (task, tokens), ways in groups.items()
        for way, asked in ways.items()
    ]


def _row(task: str, tokens: int, way: str, asked: Sequence[Asked], exhaustive: Sequence[Asked]) -> dict[str, Any]:
    kept = np.array([one.outcome.kept for one in asked])
    usual = np.array([one.outcome.kept for one in exhaustive])
    pairs = list(zip(asked, exhaustive, strict=True))
    return {
        "task": task,
        "tokens": tokens or "whole",
        "way": way,
        "questions": len(asked),
        "kept": dict(zip(map(str, BUDGETS), (100 * kept.mean(0)).round(1).tolist(), strict=True)),
        "lost": dict(zip(map(str, BUDGETS), (usual & ~kept).sum(0).tolist(), strict=True)),
        "won": dict(zip(map(str, BUDGETS), (kept & ~usual).sum(0).tolist(), strict=True)),
        "same_auto": round(100 * float(np.mean([one.auto_places == other.auto_places for one, other in pairs])), 1),
        "log_odds_off": round(float(np.mean([abs(one.log_odds - other.log_odds) for one, other in pairs])), 3),
        "units_scored": round(float(np.mean([one.scored for one in asked]))),
        "seconds": round(float(np.median([one.seconds for one in asked])), 4),
    }


def options() -> argparse.Namespace:
    """The command line."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--split", type=Split, default=Split.DEVELOPMENT)
    parser.add_argument("--task", action="append", choices=_TASKS, help="only this [all]")
    parser.add_argument("--tokens", type=parse_size, nargs="*", default=[32_000, 128_000, 512_000])
    parser.add_argument("--joined", type=parse_size, help="tokens of one workspace of many repositories")
    parser.add_argument("--repository", action="append", default=[], help="only this [all of the split]")
    parser.add_argument("--questions", type=int, default=16, help="at most, a workspace")
    parser.add_argument("--divisor", type=int, action="append", help=f"also with part of the candidates {_DIVISORS}")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with 4 GB of memory")
    parser.add_argument("--name", default="two-levels", help="of the file in results/")
    return parser.parse_args()


def main() -> None:
    """Ask, compare, print, write results/two-levels.json."""
    given = options()
    start = partial(_opened, given.split, given.questions, given.divisor or _DIVISORS)
    if given.joined:
        comparison = start()
        scene = joined(given.split, given.repository, given.joined, comparison.corpus)
        found = list(comparison.of_scene(scene, given.joined))
    else:
        with spread(given.jobs, _here(start), start) as ask:
            found = [one for some in ask(Comparison.of_item, list(_items(given))) for one in some]
    report(given.name, {"split": given.split, "figures": table(found)})


def _items(given: argparse.Namespace) -> Iterator[WorkItem]:
    names = [one.name for one in repositories(given.split) if one.name in (given.repository or [one.name])]
    for task in given.task or _TASKS:
        for tokens in given.tokens if all_tasks()[task].sized else [0]:
            yield from (WorkItem(task, tokens, name) for name in names)


def _opened(split: Split, questions: int, divisors: Sequence[int]) -> Comparison:
    file, store = locate(DEFAULT_DRAFTER), Store(cache_path())
    return Comparison(corpus_of(split, file, questions), KeyCache(store, Drafter(file)), store, divisors)


@contextmanager
def _here(start: Any) -> Iterator[Any]:
    yield start()


if __name__ == "__main__":
    main()
