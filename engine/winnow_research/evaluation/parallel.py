"""The evaluation in one or several processes, each with rows of its own: one family, size and repository at a time."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from winnow_engine.core import Cancellation
from winnow_engine.errors import CancelledError, EvaluationError, WinnowError
from winnow_engine.store import Store
from winnow_research.evaluation.corpus import corpus_of
from winnow_research.evaluation.figures import Outcome
from winnow_research.evaluation.methods import all_rows
from winnow_research.evaluation.processes import spread
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.run import Evaluation, Report
from winnow_research.evaluation.tasks import all_families


@dataclass(frozen=True, slots=True)
class Plan:
    """What to compare, on what; `rows` are names, `drafter` and `store` files."""

    drafter: Path
    rows: tuple[str, ...]
    split: Split
    questions: int
    seed: int
    store: Path

    def tasks(self, families: Sequence[str], sizes: Sequence[int]) -> list[Task]:
        """The whole evaluation, the largest workspaces first; a family that is not sized comes once."""
        sized = [(name, size) for name in families for size in (sizes if all_families()[name].sized else sizes[:1])]
        sized.sort(key=lambda one: -one[1])
        return [Task(name, size, one.name) for name, size in sized for one in repositories(self.split)]


@dataclass(frozen=True, slots=True)
class Task:
    """The questions of a family about one repository, in workspaces of a size."""

    family: str
    tokens: int
    repository: str


@dataclass(frozen=True, slots=True)
class Results:
    """Outcomes, by row and task; by row why it could not score something; by task why it came to nothing."""

    outcomes: list[Outcome]
    absent: dict[str, str]
    failed: dict[Task, str]


def run(plan: Plan, tasks: Sequence[Task], jobs: int, report: Report, cancellation: Cancellation) -> Results:
    """Do all tasks, in `jobs` processes where that is more than one. CancelledError when cancelled.

    A task that fails costs no other its outcomes.
    """
    results = Results([], {}, {})
    with spread(jobs, _here(plan, report, cancellation), partial(_alone, plan)) as evaluate:
        waiting = dict.fromkeys(tasks)
        try:
            for task, found in zip(tasks, evaluate(results_of, tasks), strict=True):
                waiting.pop(task)
                results.outcomes.extend(found.outcomes)
                results.absent.update(found.absent)
                results.failed.update(found.failed)
                report(f"{len(results.outcomes):,} outcomes")
                cancellation.check()
        except EvaluationError as error:
            results.failed.update(dict.fromkeys(waiting, str(error)))
    results.outcomes.sort(key=lambda one: (plan.rows.index(one.row), one.family, one.tokens, one.repository))
    return results


@contextmanager
def _here(plan: Plan, report: Report, cancellation: Cancellation) -> Iterator[Evaluation]:
    with closing(Store(plan.store)) as store:
        yield _opened(plan, store, report, cancellation)


def _alone(plan: Plan) -> Evaluation:
    """The evaluation of a process of its own."""
    return _opened(plan, Store(plan.store), lambda _: None, Cancellation())


def _opened(plan: Plan, store: Store, report: Report, cancellation: Cancellation) -> Evaluation:
    rows = [row for row in all_rows(plan.drafter) if row.name in plan.rows]
    return Evaluation(corpus_of(plan.split, plan.drafter, plan.questions, plan.seed), rows, store, report, cancellation)


def results_of(evaluation: Evaluation, task: Task) -> Results:
    """What one task comes to. CancelledError when cancelled; any other failure is in the results."""
    narrowed = replace(evaluation, corpus=replace(evaluation.corpus, asked=task.repository), absent={})
    try:
        outcomes = list(narrowed.run([all_families()[task.family]], [task.tokens]))
    except CancelledError:
        raise
    except WinnowError as error:
        return Results([], narrowed.absent, {task: str(error)})
    except Exception as error:
        return Results([], narrowed.absent, {task: "".join(traceback.format_exception(error))})
    return Results(outcomes, narrowed.absent, {})
