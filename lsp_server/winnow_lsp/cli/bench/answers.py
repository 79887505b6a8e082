"""`winnow bench answers`: whether the target's answers are right, by what it is shown."""

from __future__ import annotations

import click

from winnow_engine.core import Budget
from winnow_engine.evaluation.answers.readers import Alternative, Product, Reader
from winnow_engine.evaluation.answers.run import AnswerRun
from winnow_engine.evaluation.rows import all_rows
from winnow_engine.evaluation.scores import scores
from winnow_lsp.cli.bench.shared import Bench, corpus_options, opened, parse_sizes, say, show
from winnow_lsp.cli.options import drafter_option, target_option

_WHOLE, _PRODUCT = "full context", "Winnow"
_ALTERNATIVES = ("BM25", "MiniLM")
_ROWS = (_WHOLE, _PRODUCT, *_ALTERNATIVES)


@click.command()
@click.option("--row", "chosen", multiple=True, type=click.Choice(_ROWS), help="Only this row [all].")
@click.option("--tokens", default="24k", show_default=True, callback=parse_sizes, help="Workspace sizes.")
@click.option("--budget", type=click.IntRange(1), default=2600, show_default=True, help="Tokens kept.")
@click.option("--questions", type=click.IntRange(1), default=16, show_default=True, help="Functions, a workspace.")
@corpus_options
@drafter_option
@target_option
def answers(
    chosen: tuple[str, ...],
    tokens: list[int],
    budget: int,
    questions: int,
    split: str,
    seed: int,
    as_document: bool,
    drafter: str,
    target: str,
) -> None:
    """How often answers are right from what Winnow keeps, against the full context and other ways to choose.

    Functions to give back, and a third as many multiple-choice questions. docs/relevance.md explains every figure.
    """
    with opened(drafter, target, split, questions, seed) as bench:
        readers = [reader for reader in _readers(bench, Budget(budget)) if not chosen or reader.name in chosen]
        run = AnswerRun(bench.corpus, readers, bench.store, say, bench.cancellation)
        found = scores(result for size in tokens for result in run.run(size))
        about = {"split": split, "seed": seed, "drafter": bench.drafter.name, "target": target, "budget": budget}
        show(found, run.absent, as_document, **about)


def _readers(bench: Bench, budget: Budget) -> list[Reader]:
    rows = {row.name: row for row in all_rows(bench.drafter)}
    return [
        Product(_WHOLE, bench.assistant, Budget(keep_ratio=1.0), bench.cancellation),
        Product(_PRODUCT, bench.assistant, budget, bench.cancellation),
        *(Alternative(rows[name], bench.assistant, budget, bench.cancellation) for name in _ALTERNATIVES),
    ]
