"""Must the weights of the fusion depend on the question? Compares weights that do with weights that do not.

Both are fitted to the calibration split as `winnow calibrate --thorough` fits them, and judged by all tasks' questions
about the given splits, in workspaces of 128,000 tokens. The drafter scores each question once, and all sets of weights
fuse the same scores. On an H200 with 16 cores it takes three minutes, and five with the test split.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from winnow_engine.core import Budget, Cancellation
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.selection.asked_question import ask_drafter
from winnow_engine.selection.budget import worth
from winnow_engine.selection.fusion import fuse
from winnow_engine.selection.fusion_weights import FusionWeights, read_fusion_weights
from winnow_engine.selection.key_cache import KeyCache
from winnow_engine.selection.question_features import QUESTION_FEATURES
from winnow_engine.selection.ranking import Ranked
from winnow_engine.store import Store, default_path
from winnow_research.calibration.calibrate import LEFT_OUT, shipped
from winnow_research.calibration.fusion import fit_fusion
from winnow_research.calibration.observations import Observation, Observer
from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.corpus import Corpus, corpus_of
from winnow_research.evaluation.figures import Outcome, as_json, figures
from winnow_research.evaluation.methods.base import by_units
from winnow_research.evaluation.parallel import WorkItem
from winnow_research.evaluation.processes import spread
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.run import keeps_all, laid_out, outcome
from winnow_research.evaluation.tasks import all_tasks
from winnow_research.machine import report
from winnow_research.studies import study_parser

_CONSTANT = ("one",)
SETS = {
    "question": (QUESTION_FEATURES, QUESTION_FEATURES),
    "constant": (_CONSTANT, _CONSTANT),
    "constant weights": (_CONSTANT, QUESTION_FEATURES),
}
"""The question features that a fit may use: to weigh unit features, and to tell whether anything answers."""
_TOKENS, _QUESTIONS = 128_000, 32  # a workspace


@dataclass(frozen=True, slots=True)
class Judged:
    """One question under one set of weights: its outcome, and what `auto` would make of it.

    `auto_tokens` is the budget that `auto` sets; `auto_kept` says whether it holds all golds.
    """

    outcome: Outcome
    auto_tokens: int
    auto_kept: bool


@dataclass
class Judge:
    """Asks the questions of a split with several sets of weights."""

    corpus: Corpus
    cache: KeyCache
    store: Store
    sets: Mapping[str, FusionWeights]

    def all_of(self, item: WorkItem) -> list[Judged]:
        """Every question of an item under every set of weights."""
        corpus = replace(self.corpus, asked=item.repository)
        scenes = all_tasks()[item.task].scenes(corpus, item.tokens)
        return [one for scene in scenes if scene.cases for one in self._scene(scene, item.tokens)]

    def _scene(self, scene: Scene, tokens: int) -> Iterator[Judged]:
        never, drafter = Cancellation(), self.cache.drafter
        with tempfile.TemporaryDirectory() as folder:
            subject = laid_out(scene, Path(folder), self.store, self.corpus.count, never)
            workspace = subject.workspace
            keys = self.cache.of(workspace, lambda _: None, never)
            for case in scene.cases:
                asked = ask_drafter(workspace, keys, drafter, workspace.located(case.question), never)
                for name, weights in self.sets.items():
                    fused = fuse(asked, weights)
                    best = worth(fused.total, subject.unit_tokens, len(asked.subquestions))
                    ranking = by_units(subject, case.question, fused.total, best)
                    auto = Ranked(case.question, workspace, keys, keys.unit_tokens, fused, drafter).tokens(Budget())
                    kept = keeps_all(ranking, auto, case, workspace)
                    yield Judged(outcome(name, tokens, case, workspace, ranking), auto, kept)


def observations(file: Path, store: Path, jobs: int) -> Iterator[Observation]:
    """The calibration split's questions as the fusion sees them. *describe* asks the sub-questions of *multi*."""
    items = items_of(Split.CALIBRATION, (name for name in all_tasks() if name not in LEFT_OUT))
    start = partial(_observer, file, store)
    with spread(jobs, _opened(start), start) as ask:
        for found in ask(Observer.all_of, items):
            yield from found


def judged(file: Path, store: Path, jobs: int, split: Split, sets: Mapping[str, FusionWeights]) -> Iterator[Judged]:
    """Every question of a split under every set of weights."""
    start = partial(_judge, file, store, split, sets)
    with spread(jobs, _opened(start), start) as ask:
        for found in ask(Judge.all_of, items_of(split, all_tasks())):
            yield from found


def items_of(split: Split, tasks: Iterable[str]) -> list[WorkItem]:
    """Some tasks about every repository of a split."""
    return [WorkItem(task, _TOKENS, one.name) for task in tasks for one in repositories(split)]


def fitted(seen: Sequence[Observation]) -> dict[str, FusionWeights]:
    """The weights of each set, each fitted in a process of one thread, because the matrices are small."""
    with threadpool_limits(1), ProcessPoolExecutor(len(SETS), get_context("fork")) as pool:
        return dict(zip(SETS, pool.map(partial(_fit, seen), SETS.values()), strict=True))


def as_document(found: Sequence[Judged]) -> list[dict[str, Any]]:
    """The figures by task and set of weights; `auto` has the share of questions kept, and the mean of tokens."""
    return [as_json(one) | {"auto": _auto(found, one.task, one.method)} for one in _figures(found)]


def table(found: Sequence[Judged]) -> list[str]:
    """% of questions with every gold kept, by task and set of weights."""
    lines = [f"{'':34}{'2,000':>8}{'4,000':>8}{'8,000':>8}{'auto':>8}{'tokens':>8}{'MRR':>8}{'AUROC':>8}"]
    for one in _figures(found):
        auto, tokens = _auto(found, one.task, one.method)
        kept = "".join(f"{100 * estimate.value:8.1f}" for estimate in one.kept[2:])
        told = "" if one.auroc is None else f"{one.auroc:8.3f}"
        name = f"{one.task} ({one.cases}), {one.method}"
        lines.append(f"{name:34}{kept}{100 * auto:8.1f}{tokens:8.0f}{one.mrr.value:8.3f}{told}")
    return lines


def main() -> None:
    """Fit, judge, print and write results/fusion_refit.json."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("splits", type=Split, nargs="*", metavar="SPLIT", help="development and calibration if none")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with 4 GB of memory")
    parser.add_argument("--drafter", default=DEFAULT_DRAFTER)
    arguments = parser.parse_args()
    file, store = locate(arguments.drafter), default_path().with_name("evaluation.sqlite")
    Store(store).close()  # made before processes share it
    sets = {
        "shipped": read_fusion_weights(shipped(file).fusion),
        **fitted(list(observations(file, store, arguments.jobs))),
    }
    found = {}
    for split in arguments.splits or (Split.DEVELOPMENT, Split.CALIBRATION):
        found[split] = list(judged(file, store, arguments.jobs, split, sets))
        print("\n".join([split, *table(found[split])]), flush=True)
    documents = {name: weights.document() for name, weights in sets.items()}
    report("fusion_refit", {"weights": documents, "splits": {split: as_document(of) for split, of in found.items()}})


def _fit(seen: Sequence[Observation], features: tuple[Sequence[str], Sequence[str]]) -> FusionWeights:
    return fit_fusion(seen, *features)


def _figures(found: Sequence[Judged]) -> list[Any]:
    return [one for one in figures(of.outcome for of in found) if one.group == "all"]


def _auto(found: Sequence[Judged], task: str, method: str) -> tuple[float, float]:
    those = [one for one in found if (one.outcome.task, one.outcome.method) == (task, method)]
    answered = [one for one in those if one.outcome.reciprocal_rank is not None]
    return float(np.mean([one.auto_kept for one in answered])), float(np.mean([one.auto_tokens for one in answered]))


@contextmanager
def _opened(start: Any) -> Iterator[Any]:
    yield start()


def _observer(file: Path, store: Path) -> Observer:
    corpus = corpus_of(Split.CALIBRATION, file, _QUESTIONS)
    return Observer(corpus, _cache(file, Store(store)), lambda _: None, Cancellation())


def _judge(file: Path, store: Path, split: Split, sets: Mapping[str, FusionWeights]) -> Judge:
    kept = Store(store)
    return Judge(corpus_of(split, file, _QUESTIONS), _cache(file, kept), kept, sets)


def _cache(file: Path, store: Store) -> KeyCache:
    return KeyCache(store, Drafter(file, shipped(file).profile))


if __name__ == "__main__":
    main()
