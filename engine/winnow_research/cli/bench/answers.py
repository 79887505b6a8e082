"""`winnow bench answers`: how often the target's answers are right, depending on the code it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from winnow_engine.core import Budget
from winnow_lsp.cli.setting_options import drafter_option, target_option
from winnow_research.cli.bench.shared import (
    BenchSetup,
    corpus_options,
    json_lines,
    opened,
    parse_sizes,
    say,
    show,
)
from winnow_research.evaluation.answers.methods import Alternative, AnswerMethod, Product
from winnow_research.evaluation.answers.run import AnswerRun, JudgedAnswer
from winnow_research.evaluation.methods import all_methods
from winnow_research.evaluation.scores import scores

_WHOLE, _PRODUCT = "full context", "Winnow"
_ALTERNATIVES = ("BM25", "MiniLM")
_METHODS = (_WHOLE, _PRODUCT, *_ALTERNATIVES)


@click.command()
@click.option("--method", "chosen", multiple=True, type=click.Choice(_METHODS), help="Only this [all].")
@click.option("--tokens", default="24k", show_default=True, callback=parse_sizes, help="Workspace sizes.")
@click.option("--budget", type=click.IntRange(1), default=2600, show_default=True, help="Tokens kept.")
@click.option("--questions", type=click.IntRange(1), default=16, show_default=True, help="Functions, a workspace.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write a line of JSON here per answer.")
@corpus_options
@drafter_option
@target_option
def answers(
    chosen: tuple[str, ...],
    tokens: list[int],
    budget: int,
    questions: int,
    out: Path | None,
    split: str,
    seed: int,
    as_document: bool,
    drafter: str,
    target: str,
) -> None:
    """How often answers are right from what Winnow keeps, against the full context and other ways to choose.

    It gives back functions.
    docs/results/answers.md explains the figures.
    """
    with opened(drafter, target, split, questions, seed) as bench, json_lines(out) as write:
        methods = [method for method in _answer_methods(bench, Budget(budget)) if not chosen or method.name in chosen]
        run = AnswerRun(bench.corpus, methods, bench.store, say, bench.cancellation)
        found = scores(written((answer for size in tokens for answer in run.run(size)), write))
        about = {"split": split, "seed": seed, "drafter": bench.drafter.name, "target": target, "budget": budget}
        show(found, run.absent, as_document, **about)


def written(answers: Iterable[JudgedAnswer], write: Callable[[object], None]) -> Iterator[JudgedAnswer]:
    """Pass answers on, each written before the next is asked for."""
    for answer in answers:
        write(answer.as_json())
        yield answer


def _answer_methods(bench: BenchSetup, budget: Budget) -> list[AnswerMethod]:
    methods = {method.name: method for method in all_methods(bench.drafter)}
    return [
        Product(_WHOLE, bench.assistant, Budget(keep_ratio=1.0), bench.cancellation),
        Product(_PRODUCT, bench.assistant, budget, bench.cancellation),
        *(Alternative(methods[name], bench.assistant, budget, bench.cancellation) for name in _ALTERNATIVES),
    ]
