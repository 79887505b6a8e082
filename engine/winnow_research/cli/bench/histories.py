"""`winnow bench histories`: whether commits are found that real histories name."""

from __future__ import annotations

from pathlib import Path

import click

from winnow_lsp.cli.terminal import cancel_on_interrupt
from winnow_research.cli.bench.shared import corpus_options, say, show
from winnow_research.evaluation.histories.asking_when import answered_when
from winnow_research.evaluation.histories.asking_why import answered_why
from winnow_research.evaluation.histories.clones import opened, pins
from winnow_research.evaluation.histories.run import Histories
from winnow_research.evaluation.repositories import Split
from winnow_research.evaluation.scores import Result, scores

_TASKS = {"why": answered_why, "when": answered_when}


@click.command()
@click.option("--task", "tasks", multiple=True, type=click.Choice(list(_TASKS)), help="Only this [all].")
@click.option(
    "--clones",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder with whole clones, OWNER/NAME each. What is missing is named with the command that gets it.",
)
@click.option("--repository", "names", multiple=True, metavar="NAME", help="Only this one of the split [all].")
@click.option("--questions", type=click.IntRange(1), default=10, show_default=True, help="At most, a repository.")
@corpus_options
def histories(
    tasks: tuple[str, ...],
    clones: Path,
    names: tuple[str, ...],
    questions: int,
    split: str,
    seed: int,
    as_document: bool,
) -> None:
    """Whether Winnow finds the commits that real histories name, against git and BM25.

    Questions are made by rule from whole clones of pinned projects. docs/histories.md explains every figure.
    """
    wanted = [pin for pin in pins(Split(split)) if pin.name in (names or (pin.name,))]
    unknown = set(names) - {pin.name for pin in wanted}
    if unknown:
        raise click.BadParameter(f"the {split} split has no {', '.join(sorted(unknown))}", param_hint="--repository")
    with cancel_on_interrupt() as cancellation:
        asked = Histories(opened(wanted, clones, cancellation), questions, seed, say, cancellation)
        rows: list[Result] = []
        try:
            for task in tasks or _TASKS:
                rows += _TASKS[task](asked)
        finally:  # also what there is when the user has waited long enough
            found = sorted(scores(rows), key=lambda one: one.test)
            show(found, asked.absent, as_document, split=split, seed=seed)
