"""The evaluation in one or several processes, one task, size and repository at a time."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from winnow_engine.core import Cancellation
from winnow_engine.errors import CancelledError, WinnowError
from winnow_engine.storage.store import Store
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.corpus import corpus_of
from winnow_research.evaluation.figures import Outcome
from winnow_research.evaluation.methods import all_methods
from winnow_research.evaluation.processes import spread
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.run import Evaluation, Report
from winnow_research.evaluation.tasks import all_tasks


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """What to compare, on what. `methods` are names; `drafter` and `store` are files. `dump` records leading units."""

    drafter: Path
    methods: tuple[str, ...]
    split: Split
    questions: int
    seed: int
    store: Path
    dump: bool = False

    def items(self, tasks: Sequence[str], sizes: Sequence[int]) -> list[WorkItem]:
        """All that is to be done, the largest workspaces first. A task that is not sized comes once."""
        sized = [(name, size) for name in tasks for size in (sizes if all_tasks()[name].sized else sizes[:1])]
        sized.sort(key=lambda one: -one[1])
        return [WorkItem(name, size, one.name) for name, size in sized for one in repositories(self.split, name)]


@dataclass(frozen=True, slots=True)
class WorkItem:
    """The questions of a task about one repository, in workspaces of a size."""

    task: str
    tokens: int
    repository: str


@dataclass(frozen=True, slots=True)
class Results:
    """What came out. `absent` says by method why it could not score something, `failed` by item why it has no outcomes.

    Outcomes are ordered by method, task, size and repository.
    """

    outcomes: list[Outcome]
    absent: dict[str, str]
    failed: dict[WorkItem, str]


def run(
    plan: EvaluationPlan, items: Sequence[WorkItem], jobs: int, report: Report, cancellation: Cancellation
) -> Results:
    """Work through all items, in `jobs` processes if that is more than one. CancelledError when cancelled.

    If an item fails, the others keep their outcomes.
    """
    results = Results([], {}, {})
    with spread(jobs, _here(plan, report, cancellation), partial(_alone, plan)) as evaluate:
        waiting = dict.fromkeys(items)
        try:
            for item, found in zip(items, evaluate(results_of, items), strict=True):
                waiting.pop(item)
                results.outcomes.extend(found.outcomes)
                results.absent.update(found.absent)
                results.failed.update(found.failed)
                report(f"{len(results.outcomes):,} outcomes")
                cancellation.check()
        except EvaluationError as error:
            results.failed.update(dict.fromkeys(waiting, str(error)))
    results.outcomes.sort(key=lambda one: (plan.methods.index(one.method), one.task, one.tokens, one.repository))
    return results


@contextmanager
def _here(plan: EvaluationPlan, report: Report, cancellation: Cancellation) -> Iterator[Evaluation]:
    with closing(Store(plan.store)) as store:
        yield _opened(plan, store, report, cancellation)


def _alone(plan: EvaluationPlan) -> Evaluation:
    """What a process of the pool works with."""
    return _opened(plan, Store(plan.store), lambda _: None, Cancellation())


def _opened(plan: EvaluationPlan, store: Store, report: Report, cancellation: Cancellation) -> Evaluation:
    methods = [method for method in all_methods(plan.drafter) if method.name in plan.methods]
    corpus = corpus_of(plan.split, plan.drafter, plan.questions, plan.seed)
    return Evaluation(corpus, methods, store, report, cancellation, dump=plan.dump)


def results_of(evaluation: Evaluation, item: WorkItem) -> Results:
    """The results of one item. CancelledError when cancelled; any other failure is recorded in the results."""
    narrowed = replace(evaluation, corpus=replace(evaluation.corpus, asked=item.repository), absent={})
    try:
        outcomes = list(narrowed.run([all_tasks()[item.task]], [item.tokens]))
    except CancelledError:
        raise
    except WinnowError as error:
        return Results([], narrowed.absent, {item: str(error)})
    except Exception as error:
        return Results([], narrowed.absent, {item: "".join(traceback.format_exception(error))})
    return Results(outcomes, narrowed.absent, {})
