"""`winnow bench answers`: whether the target's answers are right, by what it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

import click

from winnow_engine.core import Budget
from winnow_lsp.cli.options import drafter_option, target_option
from winnow_research.cli.bench.shared import Bench, corpus_options, opened, parse_sizes, say, show, writing
from winnow_research.evaluation.answers.readers import Alternative, Product, Reader
from winnow_research.evaluation.answers.run import Answer, AnswerRun
from winnow_research.evaluation.methods import all_rows
from winnow_research.evaluation.scores import scores

_WHOLE, _PRODUCT = "full context", "Winnow"
_ALTERNATIVES = ("BM25", "MiniLM")
_ROWS = (_WHOLE, _PRODUCT, *_ALTERNATIVES)


@click.command()
@click.option("--row", "chosen", multiple=True, type=click.Choice(_ROWS), help="Only this row [all].")
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

    Functions to give back, and a third as many multiple-choice questions. docs/relevance.md explains every figure.
    """
    with opened(drafter, target, split, questions, seed) as bench, _opened_for_writing(out) as file:
        readers = [reader for reader in _readers(bench, Budget(budget)) if not chosen or reader.name in chosen]
        run = AnswerRun(bench.corpus, readers, bench.store, say, bench.cancellation)
        found = scores(written((answer for size in tokens for answer in run.run(size)), file))
        about = {"split": split, "seed": seed, "drafter": bench.drafter.name, "target": target, "budget": budget}
        show(found, run.absent, as_document, **about)


def _opened_for_writing(path: Path | None) -> AbstractContextManager[TextIO | None]:
    if path is None:
        return nullcontext()
    with writing(path):
        return path.open("w", encoding="utf-8")


def written(answers: Iterable[Answer], file: TextIO | None) -> Iterator[Answer]:
    """The answers, each in the file, if there is one, before the next is asked for. Raises WinnowError."""
    for answer in answers:
        if file is not None:
            with writing(Path(file.name)):
                print(json.dumps(asdict(answer)), file=file, flush=True)
        yield answer


def _readers(bench: Bench, budget: Budget) -> list[Reader]:
    rows = {row.name: row for row in all_rows(bench.drafter)}
    return [
        Product(_WHOLE, bench.assistant, Budget(keep_ratio=1.0), bench.cancellation),
        Product(_PRODUCT, bench.assistant, budget, bench.cancellation),
        *(Alternative(rows[name], bench.assistant, budget, bench.cancellation) for name in _ALTERNATIVES),
    ]
