"""`winnow bench answers`: what targets answer from the code that Winnow keeps."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from winnow_cuda.device import availability
from winnow_engine.core import Budget, counted
from winnow_engine.models.cache import locate
from winnow_engine.models.registry import DEFAULT_TARGET
from winnow_lsp.cli.setting_options import drafter_option
from winnow_research.cli.bench.shared import json_lines, json_option, opened, parse_sizes, say, split_option
from winnow_research.evaluation.answers import explanations, functions
from winnow_research.evaluation.answers.items import Sheet
from winnow_research.evaluation.answers.run import AnswerRun, JudgedAnswer, figures
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.machine import describe

_EXPLAIN, _FUNCTION = "explain", "function"
_FUNCTION_BUDGET, _FUNCTIONS = Budget(2600), 16


@click.command()
@click.option("--task", type=click.Choice((_EXPLAIN, _FUNCTION)), default=_EXPLAIN, show_default=True)
@click.option(
    "--target", "targets", multiple=True, metavar="NAME|FILE|URL", default=[DEFAULT_TARGET], show_default=True
)
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, help="Ask with so many seeds, from 0.")
@click.option("--questions", type=click.IntRange(1), help="At most, a repository [explain: all; function: 16].")
@click.option("--only", metavar="REPOSITORY", help="Ask about this one alone.")
@click.option("--tokens", default="24k", show_default=True, callback=parse_sizes, help="Workspaces with functions.")
@click.option("--budget", type=click.IntRange(1), help="Tokens kept [function: 2600; explain: as the product does].")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write a line of JSON here per answer.")
@split_option
@json_option
@drafter_option
def answers(
    task: str,
    targets: tuple[str, ...],
    seeds: int,
    questions: int | None,
    only: str | None,
    tokens: list[int],
    budget: int | None,
    out: Path | None,
    split: str,
    as_document: bool,
    drafter: str,
) -> None:
    """Score what targets answer from the code that Winnow keeps, without a judge.

    `explain` asks the hand-written questions that have keys, and half of them again without the code that answers.
    Seed 0 is greedy, as the product is; others sample. `function` has functions written out.
    docs/results/answers.md explains the scores.
    """
    if only is not None and only not in {one.name for one in repositories(Split(split))}:
        raise click.BadParameter(f"no repository of the {split} split is called {only!r}", param_hint="--only")
    most = questions or (sys.maxsize if task == _EXPLAIN else _FUNCTIONS)
    asking = _Asking(task, drafter, split, most, only, tokens, budget)
    found: list[JudgedAnswer] = []
    with json_lines(out) as write:
        for target in targets:
            for seed in range(seeds):
                found += _written(asking.answers(target, seed), write)
    say("")
    if as_document:
        machine = {**describe(), "device": availability().reason}
        about = {"machine": machine, "task": task, "split": split, "drafter": locate(drafter).name, "budget": budget}
        sizes = {one.workspace: one.workspace_tokens for one in found}
        click.echo(json.dumps(about | {"workspaces": sizes, "figures": figures(found)}, indent=2))
    else:
        click.echo("\n".join(line for figure in figures(found) for line in _lines(figure)))


@dataclass(frozen=True)
class _Asking:
    """Questions for any target with any seed."""

    task: str
    drafter: str
    split: str
    questions: int
    only: str | None
    tokens: list[int]
    budget: int | None

    def answers(self, target: str, seed: int) -> Iterator[JudgedAnswer]:
        with opened(self.drafter, target, self.split, self.questions, seed) as bench:
            usual = Budget() if self.task == _EXPLAIN else _FUNCTION_BUDGET
            budget = Budget(self.budget) if self.budget else usual
            run = AnswerRun(bench.assistant, target, seed, budget, say, bench.cancellation)
            yield from run.run(self._sheets(replace(bench.corpus, asked=self.only)))

    def _sheets(self, corpus: Corpus) -> Iterator[Sheet]:
        if self.task == _EXPLAIN:
            yield from explanations.sheets(corpus)
        else:
            for size in self.tokens:
                yield from functions.sheets(corpus, size)


def _written(answers: Iterator[JudgedAnswer], write: Callable[[object], None]) -> Iterator[JudgedAnswer]:
    """Pass answers on, each written before the next is asked for."""
    for answer in answers:
        write(answer.as_json())
        yield answer


def _lines(figure: dict[str, Any]) -> Iterator[str]:
    yield f"{figure['test']}, {figure['target']}, seed {figure['seed']}: {counted(figure['answers'], 'answer')}"
    for name, estimate in figure["scores"].items():
        share, low, high = (round(100 * one) for one in estimate)
        yield f"  {name:14}{share:4} [{low}–{high}]"
    yield f"  median {', '.join(f'{value:,g} {name}' for name, value in figure['medians'].items())}"
