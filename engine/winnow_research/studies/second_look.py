"""Does a second look keep more: the units that lead, read once more, together and behind the question?

Every question of a split's tasks is asked once. Candidates of two kinds and several sizes are read, with the question
before them and without it, and what the drafter then says is added to the scores with several weights. The other ways
leave out what the product does with a question's parts and with the length of units. Kept golds are compared.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Budget, Cancellation, Scores
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.drafter.encoding import FileText
from winnow_engine.drafter.reader.use import LEADING, REACHABLE
from winnow_engine.index.workspace import Workspace
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.selection.asked_question import AskedQuestion, ask_drafter
from winnow_engine.selection.budget import choose, density, worth
from winnow_engine.selection.fusion import FusedScores, fuse
from winnow_engine.selection.fusion_weights import read_fusion_weights
from winnow_engine.selection.key_cache import KeyCache
from winnow_engine.selection.ranking import Ranked
from winnow_engine.selection.reread import units_to_read
from winnow_engine.selection.unit_features import zscore
from winnow_engine.selection.workspace_keys import WorkspaceKeys
from winnow_engine.selection.workspace_units import WorkspaceUnits
from winnow_engine.store import Store
from winnow_research.cli.bench.shared import parse_size
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.cases import Case, Scene, units_at
from winnow_research.evaluation.corpus import Corpus, corpus_of
from winnow_research.evaluation.figures import BUDGETS, Outcome
from winnow_research.evaluation.methods.base import Ranking
from winnow_research.evaluation.parallel import WorkItem
from winnow_research.evaluation.processes import spread
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.run import keeps_all, laid_out, outcome
from winnow_research.evaluation.tasks import all_tasks
from winnow_research.machine import report
from winnow_research.studies import study_parser

PRODUCT, APART, SHORT = "product", "two parts as many", "length counts in full"
_TASKS = ("real", "commit", "bug", "describe", "multi", "doc", "cursor", "usage")
_NEVER = Cancellation()


@dataclass(frozen=True, slots=True)
class Way:
    """One way of scoring a question: the scores, the order of units, and the share of the golds' lines that was read.

    `seconds` is how long reading took.
    """

    name: str
    scores: FusedScores
    worth: Scores
    share: float = 1.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Seen:
    """One question in one way: its outcome, and whether what `auto` keeps holds all golds."""

    outcome: Outcome
    auto_tokens: int
    auto_kept: bool
    share: float
    seconds: float


@dataclass
class Looks:
    """Asks the questions of scenes in every way."""

    corpus: Corpus
    cache: KeyCache
    store: Store
    sizes: Sequence[int]
    weights: Sequence[float]

    def of_item(self, item: WorkItem) -> list[Seen]:
        """The questions of a task about one repository."""
        scenes = all_tasks()[item.task].scenes(replace(self.corpus, asked=item.repository), item.tokens)
        return [one for scene in scenes if scene.cases for one in self._of_scene(scene, item.tokens)]

    def _of_scene(self, scene: Scene, tokens: int) -> Iterator[Seen]:
        with tempfile.TemporaryDirectory() as folder:
            workspace = laid_out(scene, Path(folder), self.store, self.corpus.count, _NEVER).workspace
            keys = self.cache.of(workspace, lambda _: None, _NEVER)
            for case in scene.cases:
                for way in self._ways(workspace, keys, case):
                    yield self._judged(way, tokens, case, workspace, keys)

    def _ways(self, workspace: Workspace, keys: WorkspaceKeys, case: Case) -> Iterator[Way]:
        drafter, weights = self.cache.drafter, read_fusion_weights(self.cache.drafter.fusion)
        asked = ask_drafter(workspace, keys, drafter, workspace.located(case.question), _NEVER)
        first, parts = fuse(asked, weights), len(asked.subquestions)
        order = partial(worth, tokens=keys.unit_tokens, subquestions=parts)
        with patch("winnow_engine.selection.fusion._WHOLE", 0.0):
            apart = fuse(asked, weights)
        yield Way(PRODUCT, first, order(first.total))
        yield Way(APART, apart, order(apart.total))
        yield Way(SHORT, first, density(first.total, keys.unit_tokens))
        yield Way(f"{APART}, {SHORT}", apart, density(apart.total, keys.unit_tokens))
        for tokens in self.sizes:
            for kind in (LEADING, REACHABLE):
                units = units_to_read(workspace, first.total, keys.unit_tokens, kind, tokens)
                share = share_of_golds(case, workspace, units)
                for behind in ("the question", "nothing"):
                    started = time.perf_counter()
                    said = read_together(asked, units, drafter, asks=behind == "the question")
                    seconds = time.perf_counter() - started
                    for weight in self.weights:
                        scores = replace(first, total=first.total + np.float32(weight) * said)
                        name = f"{kind}, {tokens:,} behind {behind} x {weight:g}"
                        yield Way(name, scores, order(scores.total), share, seconds)

    def _judged(self, way: Way, tokens: int, case: Case, workspace: Workspace, keys: WorkspaceKeys) -> Seen:
        drafter = self.cache.drafter
        source = WorkspaceUnits(workspace, keys.unit_tokens, drafter.count)
        focus = source.focus(case.question.cursor) if case.question.cursor else None
        ranking = Ranking(way.scores.total, lambda budget: choose(source, way.worth, budget, focus))
        auto = Ranked(case.question, workspace, keys, keys.unit_tokens, way.scores, drafter).tokens(Budget())
        found, kept = outcome(way.name, tokens, case, workspace, ranking), keeps_all(ranking, auto, case, workspace)
        return Seen(found, auto, kept, way.share, way.seconds)


def read_together(asked: AskedQuestion, units: NDArray[np.int64], drafter: Drafter, *, asks: bool) -> Scores:
    """The mean of the drafter's standardised scores of some units that it reads in this order, float32 [U], else 0.

    Segments of 2,048 tokens begin where a file's would have its path: with the question if it `asks`.
    """
    code = asked.question.code
    found = (asked.workspace.units[unit] for unit in units)
    texts = tuple(f"{file.path}\n{file.text_of(unit)}" for file, unit in found)
    header = f"Question: {asked.text}\n{code.text if code else ''}" if asks else "Question: "
    (keys,) = drafter.encode([FileText(header, texts)], _NEVER)
    scored = drafter.score(keys.arrays, np.cumsum([0, *keys.unit_tokens]), asked.text, code)
    said = np.zeros(len(asked.workspace.units), np.float32)
    said[units] = np.mean([zscore(scores) for scores in scored.values()], axis=0)
    return said


def share_of_golds(case: Case, workspace: Workspace, units: NDArray[np.int64]) -> float:
    """The share of the golds' lines that stand in some units; 1 without golds."""
    wanted, lines = set(units.tolist()), []
    for gold in case.golds:
        for number in units_at(workspace, gold):
            unit = workspace.units[number][1]
            count = min(gold.end_line, unit.end_line) - max(gold.start_line, unit.start_line) + 1
            lines += [number in wanted] * count
    return float(np.mean(lines)) if lines else 1.0


def table(found: Sequence[Seen]) -> list[dict[str, Any]]:
    """By task and way: % of questions with all golds kept, mean % of golds kept, and what `auto` makes of it."""
    groups: dict[tuple[str, str], list[Seen]] = {}
    for one in found:
        groups.setdefault((one.outcome.task, one.outcome.method), []).append(one)
    return [
        {
            "task": task,
            "way": way,
            "questions": len(seen),
            "kept": _by_budget(np.mean([one.outcome.kept for one in seen], axis=0)),
            "golds": _by_budget(np.mean([one.outcome.share for one in seen], axis=0)),
            "auto_kept": round(100 * float(np.mean([one.auto_kept for one in seen])), 1),
            "auto_tokens": round(float(np.mean([one.auto_tokens for one in seen]))),
            "lines_read": round(100 * float(np.mean([one.share for one in seen])), 1),
            "all_read": round(100 * float(np.mean([one.share == 1 for one in seen])), 1),
            "seconds": round(float(np.median([one.seconds for one in seen])), 4),
        }
        for (task, way), seen in groups.items()
    ]


def _by_budget(shares: NDArray[np.float64]) -> Mapping[str, float]:
    return dict(zip(map(str, BUDGETS), (100 * shares).round(1).tolist(), strict=True))


def main() -> None:
    """Ask, look, print, write results/NAME-SPLIT.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--split", type=Split, action="append", help="[calibration and development]")
    parser.add_argument("--task", action="append", choices=_TASKS, help="only this [all]")
    parser.add_argument("--repository", action="append", default=[], help="only this [all of the split]")
    parser.add_argument("--tokens", type=parse_size, default=128_000, help="of a workspace")
    parser.add_argument("--questions", type=int, default=32, help="at most, a workspace, of tasks made by rule")
    parser.add_argument("--read", type=parse_size, nargs="*", default=[], help="tokens to read again [none]")
    parser.add_argument("--weight", type=float, nargs="*", default=[0.5, 1.0, 2.0])
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with 4 GB of memory")
    parser.add_argument("--name", default="second-look", help="of the files in results/")
    given = parser.parse_args()
    for split in given.split or (Split.CALIBRATION, Split.DEVELOPMENT):
        start = partial(_opened, split, given.questions, given.read, given.weight)
        with spread(given.jobs, _here(start), start) as ask:
            found = [one for some in ask(Looks.of_item, list(_items(given, split))) for one in some]
        report(f"{given.name}-{split}", {"split": split, "figures": table(found)})


def _items(given: argparse.Namespace, split: Split) -> Iterator[WorkItem]:
    names = [one.name for one in repositories(split) if one.name in (given.repository or [one.name])]
    for task in given.task or _TASKS:
        yield from (WorkItem(task, given.tokens if all_tasks()[task].sized else 0, name) for name in names)


def _opened(split: Split, questions: int, sizes: Sequence[int], weights: Sequence[float]) -> Looks:
    file, store = locate(DEFAULT_DRAFTER), Store(cache_path())
    return Looks(corpus_of(split, file, questions), KeyCache(store, Drafter(file)), store, sizes, weights)


@contextmanager
def _here(start: Any) -> Iterator[Any]:
    yield start()


if __name__ == "__main__":
    main()
