"""`winnow bench histories`: whether commits are found that real histories name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click

from winnow_engine.assistant import open_assistant
from winnow_engine.config import ModelConfig
from winnow_engine.core import Budget
from winnow_engine.storage.store import Store
from winnow_lsp.cli.interrupts import cancel_on_interrupt
from winnow_lsp.cli.setting_options import drafter_option
from winnow_research.cli.bench.shared import corpus_options, say, show
from winnow_research.evaluation.cache import cache_path
from winnow_research.evaluation.histories.asking_when import answered_when
from winnow_research.evaluation.histories.asking_why import Answering, answered_why
from winnow_research.evaluation.histories.clones import opened, pins
from winnow_research.evaluation.histories.run import Histories
from winnow_research.evaluation.repositories import Split
from winnow_research.evaluation.scores import Result, scores

_TASKS = ("why", "when")
_TOKENS = 4000  # of code that a target sees besides the history


@click.command()
@click.option("--task", "tasks", multiple=True, type=click.Choice(_TASKS), help="Only this [all].")
@click.option(
    "--clones",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder with whole clones, OWNER/NAME each. What is missing is named with the command that gets it.",
)
@click.option("--repository", "names", multiple=True, metavar="NAME", help="Only this one of the split [all].")
@click.option("--questions", type=click.IntRange(1), default=10, show_default=True, help="At most, a repository.")
@click.option("--target", help="Have this target answer *why*, and count what it cites.")
@corpus_options
@drafter_option
def histories(
    tasks: tuple[str, ...],
    clones: Path,
    names: tuple[str, ...],
    questions: int,
    target: str | None,
    split: str,
    seed: int,
    as_document: bool,
    drafter: str,
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
                rows += _answered(task, asked, ModelConfig(drafter, target or ""))
        finally:  # also what there is when the user has waited long enough
            found = sorted(scores(rows), key=lambda one: one.test)
            show(found, asked.absent, as_document, split=split, seed=seed)


def _answered(task: str, asked: Histories, models: ModelConfig) -> Iterator[Result]:
    """The results of a task. Models are loaded only for a target's answers."""
    if task == "when":
        yield from answered_when(asked)
    elif not models.target:
        yield from answered_why(asked)
    else:
        with closing(Store(cache_path())) as store, closing(open_assistant(models, store)) as assistant:
            yield from answered_why(asked, Answering(assistant, Budget(_TOKENS)))
